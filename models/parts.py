"""The parts of a model that a configuration can name: module:attribute, meaning, settings.

A part is imported when it is chosen, so that this table can be read without torch. Its keyword-only
parameters are its settings, with the types and defaults that stand here: a test compares the two.
Each encoder says in `about` which layers the width `hidden` is of.
"""

from accord.models.common.registry import Part, Registry, Setting

BETWEEN_LAYERS = {"hidden": "between layers"}

# h_t = f(ψ(K), h_{t−1}): modules from inputs (T × B × E) and a state to outputs and a state.
ENCODERS = Registry(
    "encoder",
    "accord.encoders",
    {
        "cascade": Part(
            "accord.zoo.learning:CascadeUnits",
            "Units in a cascade, each of which reads the words, the units before it, and itself.",
        ),
        "cbow": Part(
            "accord.zoo.reading:CBOW",
            "A bag of the last words, in no order: h_t = f(mean of ψ_t … ψ_{t−order+1}).",
            BETWEEN_LAYERS,
            order=Setting(int, 8, "words in the bag, the last one included"),
        ),
        "dilated": Part(
            "accord.zoo.reading:Dilated",
            "Causal convolutions over words, each layer with wider gaps than the one below.",
            BETWEEN_LAYERS,
            width=Setting(int, 2, "words that a layer reads at each step"),
        ),
        "subsampling": Part(
            "accord.zoo.encoders:Subsampling",
            "Hierarchical subsampling (Graves 2012): a slow network reads windows of a fast one.",
            every=Setting(int, 4, "words in a window"),
        ),
        "hierarchical": Part(
            "accord.zoo.encoders:Hierarchical",
            "Two clocks, for models of letters or pieces: the upper one ticks where a word ends.",
            {"reads": "ends of words"},
        ),
        "jordan": Part(
            "accord.zoo.encoders:Jordan",
            "Recurrence from the output: z_t = tanh(W·ψ_t + U·h_{t−1} + c), h_t = V·z_t.",
        ),
        "linear": Part(
            "accord.models.feed_forward:Linear",
            "A log-linear model without a network, the other limit of the LL-RNN: h_t = M·ψ_t.",
            {"hidden": "none"},
        ),
        "mogrifier": Part(
            "accord.zoo.encoders:Mogrifier",
            "An LSTM whose input and state gate each other in rounds before each step.",
            BETWEEN_LAYERS,
            rounds=Setting(int, 5, "of gating, input and state in turn"),
        ),
        "elman": Part(
            "accord.models.encoder:Elman",
            "The simple recurrent network (Elman 1990): h_t = tanh(W·ψ_t + U·h_{t−1} + c).",
            BETWEEN_LAYERS,
        ),
        "gru": Part(
            "accord.models.encoder:GRU",
            "Gated recurrent units (Cho et al. 2014).",
            BETWEEN_LAYERS,
        ),
        "lstm": Part(
            "accord.models.encoder:LSTM",
            "Long short-term memory (Hochreiter & Schmidhuber 1997).",
            BETWEEN_LAYERS,
        ),
        "irnn": Part(
            "accord.models.encoder:IRNN",
            "Rectified units that start as a memory (Le et al. 2015): "
            "h_t = relu(W·ψ_t + U·h_{t−1} + c), U = 1 at first.",
            BETWEEN_LAYERS,
        ),
        "lstm-window": Part(
            "accord.models.feed_forward:LSTMWindow",
            "An LSTM over the last words alone, from an empty state: a sequence length that is "
            "fixed.",
            BETWEEN_LAYERS,
            order=Setting(int, 8, "words that are read, the last one included"),
        ),
        "reservoir": Part(
            "accord.zoo.encoders:Reservoir",
            "A recurrent net that is drawn and not trained, but for the readout from its states.",
        ),
        "scrn": Part(
            "accord.zoo.encoders:SCRN",
            "Slow context units beside Elman's (Mikolov et al. 2015).",
            slow=Setting(int, 40, "units of the slow context"),
            alpha=Setting(float, 0.95, "how much of it is kept from word to word"),
        ),
        "transformer": Part(
            "accord.models.feed_forward:Transformer",
            "Layers of attention to the last positions and feed-forward nets, norms before each.",
            heads=Setting(int | None, None, "of attention in a layer; null: one for each 64 units"),
            reach=Setting(int, 512, "positions that are attended to, the last one included"),
        ),
        "window": Part(
            "accord.models.feed_forward:Window",
            "The feed-forward model of Bengio et al. (2003): h_t sees the last inputs only.",
            BETWEEN_LAYERS,
            order=Setting(int, 4, "words that are read, the last one included"),
        ),
    },
)

# Which words an expert feature is of, for `output: expert`: classes that are made from Φ.
EXPERTS = Registry(
    "expert",
    "accord.experts",
    {
        "copy": Part(
            "accord.zoo.expert:Copy",
            "The feature is 1 for the last words of the sentence so far.",
            reach=Setting(int, 20, "words back", least=1),
        ),
    },
)

# Features φ(K, x) of the whole prefix, for `output: prefix-features`: functions of a prefix and a
# word. A file of your own is `FILE.py:FUNCTION`.
PREFIX_FEATURES = Registry(
    "feature of the prefix",
    "accord.prefix_features",
    {
        "agreement": Part(
            "accord.zoo.prefix:agreement",
            "A word agrees with the last noun or determiner in gender and number, however far it "
            "is.",
        ),
        "knowledge": Part(
            "accord.zoo.prefix:knowledge",
            "The paper's expert φ_e: 1 if a word is no number, or the number that a table gives.",
            table=Setting(str, "facts.tsv", "a word and its number on each line, parted by a tab"),
        ),
        "position": Part(
            "accord.zoo.prefix:position",
            "How many words are before: a weight for each part of speech at each of the first "
            "places.",
        ),
    },
)

GATE = Setting(bool, False, "the network weighs the evidence of the background at each step")
TEMPERATURE = Setting(bool, False, "of p, fitted on validation after the training")

# p(x | K) from h_t: functions from an `OutputContext` to a module with `loss` and `log_prob`.
OUTPUTS = Registry(
    "output",
    "accord.outputs",
    {
        "adaptive": Part(
            "accord.models.softmax:adaptive",
            "PyTorch's adaptive softmax: the rare words in clusters of smaller vectors.",
        ),
        "background": Part(
            "accord.models.softmax:background",
            "The background b by itself, so that nothing is trained.",
        ),
        "classes": Part(
            "accord.zoo.outputs:classes",
            "First the class of a word (see encode.classes), then the word among those of its "
            "class.",
        ),
        "tree": Part(
            "accord.zoo.outputs:tree",
            "A tree of classes: that of a word (see encode.classes), smaller ones in it, then the "
            "word.",
            branches=Setting(int, 16, "of a node below the classes, at most"),
        ),
        "log-linear": Part(
            "accord.models.log_linear:log_linear",
            "A sum over the features of a word, with weights that the network chooses at every "
            "step.",
            background_gate=GATE,
            temperature=TEMPERATURE,
            calibration=Setting(
                bool,
                False,
                "how likely words of each frequency are, and how far those of a signature share "
                "its mass by the context, fitted on validation after the training",
            ),
        ),
        "expert": Part(
            "accord.zoo.expert:expert",
            "A log-linear output with one more feature, of the words that the context names.",
            expert=Setting(str | dict, "copy", "which words these are", parts=EXPERTS),
            background_gate=GATE,
            temperature=TEMPERATURE,
        ),
        "prefix-features": Part(
            "accord.zoo.prefix:prefix_features",
            "A log-linear output with features of the whole prefix and the candidate word.",
            features=Setting(
                str | dict,
                "agreement",
                "a function of a prefix and a word; your own is FILE.py:FUNCTION",
                parts=PREFIX_FEATURES,
            ),
            exact=Setting(
                bool,
                False,
                "calls it for every word, and not once for each signature; for functions that read "
                "the forms of words",
            ),
            background_gate=GATE,
            temperature=TEMPERATURE,
        ),
        "sampled-expectations": Part(
            "accord.zoo.outputs:sampled_expectations",
            "A log-linear output whose expected features are sampled in training.",
            samples=Setting(
                int,
                64,
                "signatures drawn: for each word from the model, for all of a step from b",
                least=1,
            ),
            draw=Setting(
                str,
                "model",
                "model: unbiased, with an exact Z; background: Z is sampled too",
                one_of=("model", "background"),
            ),
        ),
        "sampled": Part(
            "accord.zoo.outputs:sampled",
            "A softmax that compares the next word with a sample of words in training.",
            samples=Setting(int, 1024, "words drawn at each step, for all of its words together"),
        ),
        "noise-contrastive": Part(
            "accord.zoo.outputs:noise_contrastive",
            "A softmax that learns in training to tell the next word from a sample of words.",
            samples=Setting(int, 1024, "words drawn at each step, for all of its words together"),
        ),
        "softmax": Part(
            "accord.models.softmax:softmax",
            "One vector for each signature, and all of them compared at each step.",
        ),
        "self-normalised": Part(
            "accord.models.softmax:self_normalised",
            "A softmax that is trained to have Z near 1; its probabilities are normalised.",
            penalty=Setting(float, 0.1, "on the square of log Z"),
        ),
    },
)

# From counts of n-grams and a base distribution to `NGrams`.
SMOOTHINGS = Registry(
    "smoothing",
    "accord.smoothings",
    {
        "add-alpha": Part(
            "accord.zoo.smoothing:add_alpha",
            "Every n-gram counts α more than it occurs, and there is no backing off.",
            alpha=Setting(float, 0.1, "how often more than it occurs every n-gram is counted"),
        ),
        "jelinek-mercer": Part(
            "accord.zoo.smoothing:jelinek_mercer",
            "Linear interpolation of the orders (Jelinek & Mercer 1980), weighted by leaving one "
            "out.",
        ),
        "kneser-ney": Part(
            "accord.models.background:kneser_ney",
            "Modified Kneser-Ney, interpolated (Chen & Goodman 1998), as KenLM estimates it.",
        ),
        "witten-bell": Part(
            "accord.zoo.smoothing:witten_bell",
            "A context leaves to shorter ones what its new words had (Witten & Bell 1991), "
            "interpolated.",
        ),
    },
)

# Histories of n-grams: functions from a `HistoryContext` to a background.
HISTORIES = Registry(
    "history",
    "accord.histories",
    {
        "classes": Part(
            "accord.zoo.histories:classes",
            "The classes of the last words (Brown et al. 1992), those of `encode.classes`.",
        ),
        "factored": Part(
            "accord.zoo.histories:factored",
            "The last words with their factors (Bilmes & Kirchhoff 2003), of which one is given "
            "up a time.",
            factors=Setting(
                str, "lemma pos", "factors to back off to, in turn; gender and others too"
            ),
        ),
        "forest": Part(
            "accord.zoo.histories:forest",
            "Trees of random questions about the last words, averaged (Xu & Jelinek 2004).",
            trees=Setting(int, 5, "trees in the forest", least=1),
            depth=Setting(int, 2, "questions from the root of a tree to a leaf", least=0),
        ),
        "skip": Part(
            "accord.zoo.histories:skip",
            "The last words, and the same with one of them skipped, interpolated (Goodman 2001).",
        ),
        "words": Part("accord.models.background:words", "The last words."),
    },
)

# ψ: what the encoder reads of a word; from Φ, other features or letters of words, and a width.
INPUTS = Registry(
    "input",
    "accord.inputs",
    {
        "features": Part(
            "accord.models.encoder:features",
            "Its features: φ, or ψ where it has others.",
        ),
        "words": Part("accord.models.encoder:words", "Which word it is: one-hot."),
        "letters-cnn": Part(
            "accord.zoo.reading:letters_cnn",
            "Its letters (see featurise.letters), by a convolutional net with a highway.",
            {"reads": "letters"},
        ),
        "letters-lstm": Part(
            "accord.zoo.reading:letters_lstm",
            "Its letters (see featurise.letters), by two LSTMs.",
            {"reads": "letters"},
        ),
    },
)

LABEL_DROPOUT = Setting(
    float, 0.2, "share of sentences whose label is kept from the network", least=0, under=1
)

# Labels of a sentence as part of K.
CONDITIONS = Registry(
    "condition",
    "accord.conditions",
    {
        "none": Part("accord.models.conditions:Unconditioned", "It is told nothing."),
        "input": Part(
            "accord.models.conditions:Condition",
            "A vector that is added to the input of each word.",
            dropout=LABEL_DROPOUT,
        ),
        "crossed": Part(
            "accord.models.conditions:Crossed",
            "That, and weights of features for each label.",
            dropout=LABEL_DROPOUT,
        ),
        "attended": Part(
            "accord.models.conditions:Attended",
            "The sentence before: an encoder reads it, and each state attends to its words.",
            {"reads": "sentence before"},
            reach=Setting(int, 30, "words of it that are read, the last ones", least=1),
            dropout=Setting(
                float, 0.2, "share of sentences from which it is kept", least=0, under=1
            ),
        ),
    },
)
