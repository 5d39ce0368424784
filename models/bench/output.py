"""What a training step costs with each output layer, all side by side in one run."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from models.background.unigram import Unigram
from models.bench.memory import peak_bytes
from models.bench.synthetic import Meaning, vocabulary
from models.encoders.choice import encoder
from models.features.embedding import FeatureEmbedding
from models.features.phi import Features
from models.outputs.adaptive import Adaptive
from models.outputs.log_linear import LogLinear
from models.outputs.softmax import Softmax

LENGTH, SIZE, LAYERS = 35, 256, 2
SMALL, LARGE = 42_500, 750_000
FEW, MANY = ("log-linear", SMALL), ("log-linear", LARGE)
CLASSES, VECTORS = "log-linear, classes", "log-linear, vectors"
DOCUMENTED = "adaptive, as documented"


class SignatureSoftmax(Softmax):
    """The floor: a plain softmax over the signatures, with nothing sparse and no words."""

    def __init__(self, features: Features):
        super().__init__(features.signature_count, SIZE)
        self.register_buffer("signature", torch.from_numpy(features.signature))

    def loss(self, h: Tensor, targets: Tensor) -> Tensor:
        return super().loss(h, self.signature[targets])


OUTPUTS: dict[str, Callable[[Features, np.ndarray], nn.Module]] = {
    "floor": lambda features, mass: SignatureSoftmax(features),
    "log-linear": lambda features, mass: LogLinear(features, Unigram(features, mass), SIZE),
    # Over words that also have a class or a vector of meaning, as `Setting.meaning` says.
    CLASSES: lambda features, mass: LogLinear(features, Unigram(features, mass), SIZE),
    VECTORS: lambda features, mass: LogLinear(features, Unigram(features, mass), SIZE),
    "softmax": lambda features, mass: Softmax(features.vocabulary_size, SIZE),
    "adaptive": lambda features, mass: Adaptive(features.vocabulary_size, SIZE, mass=mass),
    # Cut where PyTorch's manual cuts in its example, which is far from the best.
    DOCUMENTED: lambda features, mass: Adaptive(
        features.vocabulary_size, SIZE, mass=mass, cutoffs=[10, 100, 1000]
    ),
}


@dataclass(frozen=True)
class Setting:
    """One output layer over one vocabulary, on one device in one precision."""

    output: str
    words: int
    device: str = "cpu"
    precision: str = "float32"
    batch: int = 32

    @property
    def meaning(self) -> Meaning:
        return {CLASSES: "classes", VECTORS: "vectors"}.get(self.output, "no meaning")

    def fits(self) -> bool:
        """Whether there is memory for the logits over words of those outputs that form them."""
        logits = {"softmax": 1.0, DOCUMENTED: 0.5}.get(self.output, 0.0)
        numbers = 3 * logits * self.batch * LENGTH + 4 * SIZE  # with gradients and moments
        if self.device == "cpu":
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        else:
            free, _ = torch.cuda.mem_get_info()
        return not logits or 4 * self.words * numbers < 0.8 * free


@dataclass(frozen=True)
class Cost:
    """The seconds of each step measured, and the most memory that one needs."""

    setting: Setting
    seconds: tuple[float, ...]
    peak_bytes: int


class Training:
    """A network with that output, and its steps on words drawn from the background."""

    def __init__(self, setting: Setting):
        torch.manual_seed(0)
        features, mass = vocabulary(setting.words, setting.meaning)
        self.setting = setting
        self.embedding = FeatureEmbedding(features, SIZE)
        self.encoder = encoder("lstm", inputs=SIZE, hidden=SIZE, outputs=SIZE, layers=LAYERS)
        self.output = OUTPUTS[setting.output](features, mass)
        network = nn.ModuleList([self.embedding, self.encoder, self.output]).to(setting.device)
        self.optimiser = torch.optim.Adam(network.parameters())
        text = np.random.default_rng(1).choice(
            setting.words, size=(LENGTH + 1, setting.batch), p=mass / mass.sum()
        )
        self.text = torch.from_numpy(text).to(setting.device)

    def step(self) -> float:
        """The seconds of one step, from words to changed weights."""
        start = self._now()
        self.optimiser.zero_grad()
        self.loss().backward()
        self.optimiser.step()
        return self._now() - start

    def loss(self) -> Tensor:
        bfloat16 = self.setting.precision == "bfloat16"
        with torch.autocast(self.setting.device, dtype=torch.bfloat16, enabled=bfloat16):
            state = self.encoder.initial_state(self.setting.batch)
            h, _ = self.encoder(self.embedding(self.text[:-1]), state)
            return self.output.loss(h.flatten(0, 1), self.text[1:].flatten())

    def _now(self) -> float:
        if self.setting.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def measure(settings: Sequence[Setting], rounds: int) -> list[Cost]:
    """A step of each in turn, round after round, so that all meet the machine's moods alike."""
    peaks = [peak_bytes(partial(Training, setting), setting.device) for setting in settings]
    trainings = [Training(setting) for setting in settings]
    for training in trainings * 2:  # to warm up
        training.step()
    steps = [[training.step() for training in trainings] for _ in range(rounds)]
    seconds = zip(*steps, strict=True)
    return [Cost(*cost) for cost in zip(settings, seconds, peaks, strict=True)]
