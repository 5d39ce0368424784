"""Every part that a configuration can name: name → `module:attribute`.

A part is imported when it is made. `parts.json` describes all of them, so that a configuration is
checked and listed without torch; `python -m accord.models.parts` writes it, and a test says when it
is stale. Other packages add parts by the entry points of the same groups.
"""

import sys

from accord.models.common.registry import Registry, write_listing

# h_t = f(ψ(K), h_{t−1}): modules from inputs (T × B × E) and a state to outputs and a state.
ENCODERS = Registry(
    "encoder",
    "accord.encoders",
    {
        "linear": "accord.models.transformer:Linear",
        "elman": "accord.models.encoder:Elman",
        "gru": "accord.models.encoder:GRU",
        "lstm": "accord.models.encoder:LSTM",
        "irnn": "accord.models.encoder:IRNN",
        "lstm-window": "accord.models.transformer:LSTMWindow",
        "transformer": "accord.models.transformer:Transformer",
        "window": "accord.models.transformer:Window",
    },
)

# ψ, which the encoder reads: functions from `WordsRead` to a `WordEmbedding`.
INPUTS = Registry(
    "input",
    "accord.inputs",
    {"features": "accord.models.encoder:features", "words": "accord.models.encoder:words"},
)

# Labels of a sentence as part of K.
CONDITIONS = Registry(
    "condition",
    "accord.conditions",
    {
        "none": "accord.models.conditions:Unconditioned",
        "input": "accord.models.conditions:Condition",
        "crossed": "accord.models.conditions:Crossed",
        "attended": "accord.models.conditions:Attended",
    },
)

# p(x | K) from h_t: functions from an `OutputContext` to a module with `loss` and `log_prob`.
OUTPUTS = Registry(
    "output",
    "accord.outputs",
    {
        "adaptive": "accord.models.softmax:adaptive",
        "background": "accord.models.softmax:background",
        "log-linear": "accord.models.log_linear:log_linear",
        "softmax": "accord.models.softmax:softmax",
        "self-normalised": "accord.models.softmax:self_normalised",
    },
)

# b(K, x): functions from a recipe, an encoding, Φ and the number of folds to a `Background`.
BACKGROUNDS = Registry(
    "background",
    "accord.backgrounds",
    {
        "unigram": "accord.pipeline.model.network:unigram",
        "uniform": "accord.pipeline.model.network:uniform",
        "ngram": "accord.pipeline.model.network:ngrams",
    },
)

# From counts of n-grams and a base distribution to `NGrams`.
SMOOTHINGS = Registry(
    "smoothing", "accord.smoothings", {"kneser-ney": "accord.models.background:kneser_ney"}
)

# Histories of n-grams: functions from a `HistoryContext` to a background.
HISTORIES = Registry("history", "accord.histories", {"words": "accord.models.background:words"})

# Before a training: functions of the model, the training and a folder, which may return the
# text that the training reads.
PHASES = Registry(
    "phase", "accord.phases", {"pretraining": "accord.pipeline.stages.train:pretrain"}
)

# Functions of a model, its texts, a seed and a function that prints a line.
SOLVERS = Registry("solver", "accord.solvers", {"gradient": "accord.models.train:Trainer"})

# Functions of a model, further weights, a learning rate and a weight decay.
OPTIMISERS = Registry(
    "optimiser",
    "accord.optimisers",
    {
        "adamw": "accord.models.optimisers:adamw",
        "rmsprop": "accord.models.optimisers:rmsprop",
        "sgd": "accord.models.optimisers:sgd",
        "muon": "accord.models.optimisers:MuonAndAdamW",
    },
)

# How the learning rate falls.
SCHEDULES = Registry(
    "schedule",
    "accord.schedules",
    {
        "plateau": "accord.models.optimisers:Plateau",
        "linear": "accord.models.optimisers:LinearDecay",
        "inverse": "accord.models.optimisers:InverseDecay",
    },
)

# Terms that a training adds to the loss, each with its weight.
LOSSES = Registry(
    "loss",
    "accord.losses",
    {
        "past_decode": "accord.models.regularisers:PastDecoder",
        "activation": "accord.models.regularisers:ActivationPenalty",
        "temporal": "accord.models.regularisers:ActivationPenalty",
        "adaptor": "accord.models.regularisers:AdaptorPenalty",
        "features": "accord.models.regularisers:FeatureTask",
        "fraternal": "accord.models.regularisers:FraternalDropout",
    },
)

if __name__ == "__main__":
    for package in sys.argv[1:] or ["accord.models"]:
        write_listing(package)
