"""How a network is built and trained: every choice, with its default and meaning."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Recipe:
    # The network.
    encoder: Literal["lstm", "gru", "elman", "window"] = "lstm"  # reads the words so far
    output: Literal["log-linear", "softmax", "adaptive"] = "log-linear"  # predicts the next one
    layers: int = 2  # of the encoder
    embedding: int = 128  # width of ψ, the words as the encoder reads them
    hidden: int = 256  # width of the encoder's layers
    tied: bool = True  # one matrix serves to read words and to predict them
    # Dropout of units of the embedding, between layers and of the encoder's output.
    input_dropout: float = 0.3
    hidden_dropout: float = 0.3
    output_dropout: float = 0.3
    feature_dropout: float = 0.0  # of whole features of the words read
    weight_dropout: float = 0.0  # of the connections from state to state
    # The training.
    optimiser: Literal["adamw", "rmsprop", "sgd"] = "adamw"
    learning_rate: float = 2e-3
    weight_decay: float = 1e-6
    decay: float = 3.0  # divides the learning rate after an epoch without gain in validation
    clip: float = 1.0  # the norm that gradients are cut to
    batch: int = 32  # texts read side by side
    window: int = 35  # words between two steps; the state is carried on
    vary_window: bool = True  # draws each window's length around `window`
    average: float = 0.0  # of the weights over steps: how much stays at each; 0 does not average
    epochs: int = 40  # at most
    patience: int = 3  # epochs without gain in validation before the training stops
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 1
    device: str = field(default="auto", compare=False)  # cpu, cuda, or auto for the best there is
