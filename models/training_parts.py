"""The parts of a training by name, as in `parts.py`: how the weights of a network are found."""

from accord.models.common.registry import Part, Registry, Setting

AT_MOST = Setting(int, 4, "over the text, at most", least=1)

# Phases before a training: functions of the model, the training and a folder, which may return
# the text that the training reads.
PHASES = Registry(
    "phase",
    "accord.phases",
    {
        "pretraining": Part(
            "accord.pipeline.stages.train:pretrain",
            "The text of corpus.pretraining is trained on first.",
            use=Setting(
                str,
                "initialise",
                "initialise: its weights are the start; background: it trains a model that is the "
                "background of this one",
                one_of=("initialise", "background"),
            ),
            epochs=AT_MOST,
        ),
        "growth": Part(
            "accord.zoo.gradient_free:grow",
            "A network is trained while it is narrow, and widened then.",
            times=Setting(int, 2, "narrower the hidden layers are at first", least=2),
            epochs=AT_MOST,
        ),
        "boosting": Part(
            "accord.zoo.learning:boost",
            "A network is trained first; what it finds hard is read more often then.",
            power=Setting(
                float, 1.0, "of a sentence's nats per word, by which it is read", least=0
            ),
            epochs=AT_MOST,
        ),
    },
    several=True,
)

# Solvers: functions of a model, its texts, a seed and a function that prints a line.
SOLVERS = Registry(
    "solver",
    "accord.solvers",
    {
        "gradient": Part("accord.models.train:Trainer", "The optimiser trains all weights."),
        "least-squares": Part(
            "accord.zoo.gradient_free:least_squares",
            "Solves for the weights of the output; the others stay random.",
        ),
        "evolution": Part(
            "accord.zoo.gradient_free:evolve",
            "The same, with an encoder that is bred.",
            generations=Setting(int, 20, "of the evolution", least=1),
        ),
        "cascade": Part(
            "accord.zoo.learning:cascade",
            "Cascade correlation: units are added one by one and frozen; for encoder: cascade.",
            candidates=Setting(int, 8, "units that are tried for each that is added", least=1),
            steps=Setting(int, 100, "of training between two units", least=1),
        ),
        "kalman": Part(
            "accord.zoo.learning:kalman",
            "An extended Kalman filter trains all weights: a second-order method, for small nets.",
            start=Setting(float, 1.0, "variance of the first weights' errors", least=0),
            noise=Setting(float, 1.0, "variance of a measurement", least=1e-9),
            drift=Setting(float, 1e-6, "added to the variances at each step", least=0),
        ),
    },
)

# Optimisers: functions of a model, further weights, a learning rate and a weight decay.
OPTIMISERS = Registry(
    "optimiser",
    "accord.optimisers",
    {
        "adamw": Part("accord.models.optimisers:adamw", "Adam with decoupled weight decay."),
        "rmsprop": Part(
            "accord.models.optimisers:rmsprop",
            "Steps over the root of the mean square of gradients.",
            alpha=Setting(
                float,
                0.99,
                "how much of the mean square is kept; Keras keeps 0.9",
                least=0,
                under=1,
            ),
        ),
        "sgd": Part(
            "accord.models.optimisers:sgd",
            "Plain steps along the gradient.",
            momentum=Setting(
                float, 0.0, "how much of the last step is taken again", least=0, under=1
            ),
        ),
        "alap": Part(
            "accord.zoo.learning:alap",
            "A learning rate for each weight, which grows while its gradient keeps its sign.",
            q=Setting(float, 0.02, "how fast the rates change", least=0),
            kept=Setting(float, 0.9, "how much of the mean square is kept", least=0, under=1),
        ),
        "muon": Part(
            "accord.models.optimisers:MuonAndAdamW",
            "Muon for the encoder's matrices, AdamW for all other weights.",
        ),
    },
)

# How the learning rate falls.
SCHEDULES = Registry(
    "schedule",
    "accord.schedules",
    {
        "plateau": Part(
            "accord.models.optimisers:Plateau",
            "It is divided after an epoch without gain in validation.",
            decay=Setting(float, 3.0, "by what it is divided", least=1e-9),
        ),
        "linear": Part(
            "accord.models.optimisers:LinearDecay",
            "It falls from word to word, to nothing at the end of the last of `epochs`.",
        ),
        "inverse": Part(
            "accord.models.optimisers:InverseDecay",
            "It is divided by one more than the epochs that are done, in parts too: as 1/t.",
        ),
    },
)

# Terms that a training adds to the loss, each with its weight.
LOSSES = Registry(
    "loss",
    "accord.losses",
    {
        "past_decode": Part(
            "accord.models.regularisers:PastDecoder",
            "Decoding the last word from the prediction; for a tied output.",
        ),
        "activation": Part(
            "accord.models.regularisers:ActivationPenalty",
            "A penalty on the encoder's outputs: keeps them small.",
        ),
        "temporal": Part(
            "accord.models.regularisers:ActivationPenalty",
            "A penalty on their changes from word to word: keeps them slow.",
        ),
        "adaptor": Part(
            "accord.models.regularisers:AdaptorPenalty",
            "A penalty on the squared norm of the weights a_t: pulls p towards b.",
        ),
        "features": Part(
            "accord.models.regularisers:FeatureTask",
            "The features of the next word as a second target: multi-task learning; for words "
            "that are read by features and predicted by others.",
        ),
        "fraternal": Part(
            "accord.models.regularisers:FraternalDropout",
            "The difference of two runs over each window that drop other units.",
        ),
    },
    several=True,
)
