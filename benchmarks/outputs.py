"""The cost of a training step with each output layer, beside the promises of the design.

The vocabulary is made here and shaped like that of French, so that no corpus is needed; torch,
numpy and safetensors are enough.
"""

import csv
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.background import Unigram
from accord.models.encoder import FeatureEmbedding
from accord.models.log_linear import LogLinear
from accord.models.model import encoder
from accord.models.phi import Features
from accord.models.softmax import Adaptive, Softmax

FREQUENT = 2_500  # words with a feature of their own
BUNDLES = 800  # combinations of morphological features
SMALLEST = FREQUENT + BUNDLES  # words, so that each of these is there
MORPHOLOGY = 60  # morphological features
# As spaCy's vectors are for French: of 42,500 words of a text 88 % have one, of 465,000 of a text
# and a lexicon 140,000.
VECTOR_COUNT, DIMENSIONS, WITH_VECTOR = 20_000, 64, 140_000
CLASS_COUNT = 2_000  # of vectors

Meaning = Literal["no meaning", "classes", "vectors"]


@cache
def vocabulary(words: int, meaning: Meaning = "no meaning") -> tuple[Features, np.ndarray]:
    """Make Φ with FREQUENT + BUNDLES signatures, and b by Zipf's law: word r has 1/(r + 1).

    Every word has a bundle of two to eight morphological features, and few bundles have most of the
    words. The first FREQUENT words also have their identity. Meaning makes more signatures: the
    commoner words have a vector each, or the class of that vector as a feature.
    """
    generator = np.random.default_rng(0)
    bundles = _bundles(generator)
    share = 1 / np.arange(1, BUNDLES + 1)
    bundle = generator.choice(BUNDLES, size=words, p=share / share.sum())
    bundle[FREQUENT:SMALLEST] = np.arange(BUNDLES)  # so that each has a word
    identity = np.arange(words) < FREQUENT
    rows = np.concatenate([identity[:, None], bundles[bundle]], axis=1)
    row, column = np.nonzero(rows)
    indices = np.where(column == 0, row, FREQUENT + column - 1)
    indptr = np.concatenate(([0], np.cumsum(rows.sum(axis=1))))
    features = Features.from_rows(indptr, indices, np.ones(len(indices)), FREQUENT + MORPHOLOGY)
    if meaning != "no meaning":
        features = _meaning(features, meaning, generator)
    return features, 1 / np.arange(1, words + 1)


def _meaning(features: Features, meaning: Meaning, generator: np.random.Generator) -> Features:
    words = features.vocabulary_size
    vector = generator.integers(1, VECTOR_COUNT + 1, size=words)
    vector[min(int(0.88 * words), WITH_VECTOR) :] = 0
    if meaning == "vectors":
        vectors = generator.normal(size=(VECTOR_COUNT + 1, DIMENSIONS)).astype(np.float32)
        vectors[0] = 0
        return features.with_vectors(vectors, vector)
    of_word = np.where(vector, vector % CLASS_COUNT, CLASS_COUNT)
    split = features.split_by(of_word)
    of_signature = split.group_of_signatures("class", of_word)
    has_class = of_signature < CLASS_COUNT
    ends = split.indptr[1:][has_class]
    classes = features.feature_count + of_signature[has_class]
    indices = np.insert(split.indices, ends, classes)
    indptr = split.indptr + np.concatenate(([0], np.cumsum(has_class)))
    count = features.feature_count + CLASS_COUNT
    return Features(indptr, indices, np.ones(len(indices)), split.signature, count)


def _bundles(generator: np.random.Generator) -> np.ndarray:
    """Draw different sets of morphological features (BUNDLES × MORPHOLOGY, truth values)."""
    different: dict[tuple, None] = {}
    while len(different) < BUNDLES:
        chosen = generator.choice(MORPHOLOGY, size=generator.integers(2, 9), replace=False)
        different[tuple(np.isin(np.arange(MORPHOLOGY), chosen))] = None
    return np.array(list(different))


Begin = Callable[[], "Training"]  # makes the training, perhaps in another process


def peak_bytes(begin: Begin, device: str) -> int:
    """Return the most memory that a step needs."""
    return _on_gpu(begin) if device == "cuda" else _on_cpu(begin)


def _on_gpu(begin: Begin) -> int:
    base = torch.cuda.memory_allocated()
    training = begin()
    training.step()  # in which the optimiser makes its state
    torch.cuda.reset_peak_memory_stats()
    training.step()
    return torch.cuda.max_memory_allocated() - base


def _on_cpu(begin: Begin) -> int:
    """Measure in a process of its own, where no other step has left memory."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(_of_this_process, begin).result()


def _of_this_process(begin: Begin) -> int:
    base = _resident("VmRSS")
    training = begin()
    training.step()
    Path("/proc/self/clear_refs").write_text("5")  # Linux forgets the peak so far
    training.step()
    return _resident("VmHWM") - base


def _resident(field: str) -> int:
    """Return the bytes that this process holds (VmRSS) or held at most (VmHWM), by Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


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
    # Over words that also have a class or a vector of meaning, as `BenchSetting.meaning` says.
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
class BenchSetting:
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
        """Return whether the logits over words fit in memory, for outputs that form them."""
        logits = {"softmax": 1.0, DOCUMENTED: 0.5}.get(self.output, 0.0)
        numbers = 3 * logits * self.batch * LENGTH + 4 * SIZE  # with gradients and moments
        if self.device == "cpu":
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        else:
            free, _ = torch.cuda.mem_get_info()
        return not logits or 4 * self.words * numbers < 0.8 * free


@dataclass(frozen=True)
class OutputCost:
    """The seconds of each step measured, and the most memory that one needs."""

    setting: BenchSetting
    seconds: tuple[float, ...]
    peak_bytes: int


class Training:
    """A network with that output, and its steps on words drawn from the background."""

    def __init__(self, setting: BenchSetting):
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
        """Return the seconds of one step, from words to changed weights."""
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


def measure(settings: Sequence[BenchSetting], rounds: int) -> list[OutputCost]:
    """Measure a step of each in turn, round after round, so that the machine's load is alike."""
    peaks = [peak_bytes(partial(Training, setting), setting.device) for setting in settings]
    trainings = [Training(setting) for setting in settings]
    for training in trainings * 2:  # to warm up
        training.step()
    steps = [[training.step() for training in trainings] for _ in range(rounds)]
    seconds = zip(*steps, strict=True)
    return [OutputCost(*cost) for cost in zip(settings, seconds, peaks, strict=True)]


PROMISES = (  # what, of which output and words to which, how many times, whether at least
    ("log-linear ÷ plain softmax over its signatures", FEW, ("floor", SMALL), 1.05, False),
    (f"log-linear at {LARGE:,} words ÷ at {SMALL:,}", MANY, FEW, 1.10, False),
    (f"softmax ÷ log-linear, {SMALL:,} words", ("softmax", SMALL), FEW, 4, True),
    (f"{DOCUMENTED} ÷ log-linear, {LARGE:,} words", (DOCUMENTED, LARGE), MANY, 12, True),
    (f"adaptive ÷ log-linear, {LARGE:,} words", ("adaptive", LARGE), MANY, 1, True),
    (f"softmax ÷ {VECTORS}, {SMALL:,} words", ("softmax", SMALL), (VECTORS, SMALL), 1, True),
)


@dataclass(frozen=True)
class Verdict:
    """How two costs compare, and how they must: at most, or at least, `limit` times."""

    what: str
    ratio: float
    limit: float
    at_least: bool

    @property
    def reached(self) -> bool:
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit

    def __str__(self) -> str:
        sign, mark = "≥" if self.at_least else "≤", "yes" if self.reached else "NO"
        return f"{self.ratio:8.2f} ×  {sign} {self.limit:<5} {mark:4} {self.what}"


def verdicts(costs: Sequence[OutputCost]) -> list[Verdict]:
    """Compare costs of one device with the promises of the design."""
    cost = {(cost.setting.output, cost.setting.words): cost for cost in costs}
    memory = cost[MANY].peak_bytes / cost[FEW].peak_bytes
    return [
        *(
            Verdict(what, _times(cost[above], cost[below]), limit, at_least)
            for what, above, below, limit, at_least in PROMISES
            if {above, below} <= cost.keys()
        ),
        Verdict(f"memory of log-linear at {LARGE:,} words ÷ at {SMALL:,}", memory, 1.3, False),
    ]


def _times(above: OutputCost, below: OutputCost) -> float:
    """Return how many times longer a step takes: the median over rounds."""
    pairs = zip(above.seconds, below.seconds, strict=True)
    return statistics.median(one / other for one, other in pairs)


SIZES = (10_000, SMALL, 100_000, 250_000, LARGE, 1_000_000)
OF_MEANING = tuple((output, words) for output in (CLASSES, VECTORS) for words in (SMALL, LARGE))
PROMISED = tuple(pair for _, *pairs, _, _ in PROMISES for pair in pairs)
GROWING = ("log-linear", "softmax", "adaptive")  # measured at each size of the vocabulary
COMPARED = tuple(dict.fromkeys(PROMISED + OF_MEANING))


def table(
    device: str,
    precisions: Iterable[str],
    sizes: Sequence[int] = SIZES,
    *,
    batch: int = 32,
    rounds: int = 10,
) -> Iterator[dict]:
    """Yield a row for each cost, as soon as it is measured."""
    for precision in precisions:
        yield from map(_row, _costs(device, precision, sizes, batch, rounds))


def _costs(
    device: str, precision: str, sizes: Sequence[int], batch: int, rounds: int
) -> Iterator[OutputCost]:
    """Yield the costs that the verdicts compare, then those at each size of the vocabulary.

    The verdicts are printed as soon as they are known: the large vocabularies take long.
    """
    costs = measure(_fitting(COMPARED, device, precision, batch), rounds)
    print(*verdicts(costs), sep="\n", flush=True)
    yield from costs
    for words in sizes:
        pairs = [(output, words) for output in GROWING]
        yield from measure(_fitting(pairs, device, precision, batch), rounds=2)


def _fitting(
    pairs: Sequence[tuple[str, int]], device: str, precision: str, batch: int
) -> list[BenchSetting]:
    settings = [BenchSetting(output, words, device, precision, batch) for output, words in pairs]
    return [setting for setting in settings if setting.fits()]


def _row(cost: OutputCost) -> dict:
    return {
        "output": cost.setting.output,
        "words": cost.setting.words,
        "device": cost.setting.device,
        "precision": cost.setting.precision,
        "batch": cost.setting.batch,
        "milliseconds": round(1e3 * statistics.median(cost.seconds), 2),
        "peak_mebibytes": round(cost.peak_bytes / 2**20, 1),
    }


def save(rows: Sequence[dict], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def draw(rows: Sequence[dict], path: Path) -> None:
    """Draw milliseconds of a training step against the number of words, by output layer."""
    # Here, because a machine that only measures may lack matplotlib.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from accord.pipeline.base.figures import COLOURS, STYLE, save

    with rc_context(STYLE):
        figure = Figure(figsize=(7, 4))
        axes = figure.subplots()
        lines: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for row in rows:
            if row["output"] in GROWING:
                line = lines.setdefault((row["output"], row["precision"]), [])
                line.append((row["words"], row["milliseconds"]))
        for colour, (label, line) in zip(cycle(COLOURS), lines.items(), strict=False):
            axes.plot(*zip(*sorted(line), strict=True), "o-", color=colour, label=", ".join(label))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("words in the vocabulary")
        axes.set_ylabel("milliseconds")
        axes.set_title("one training step, by output layer", loc="left", fontsize=11)
        axes.legend()
    save(figure, path)
