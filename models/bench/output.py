"""What a training step costs with each output layer, all side by side in one run.

`python -m models.bench --help` needs torch and numpy only, so that it runs on any machine.
"""

import argparse
import csv
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from models.background.unigram import Unigram
from models.bench.synthetic import Meaning, vocabulary
from models.encoders.choice import encoder
from models.features.embedding import FeatureEmbedding
from models.features.phi import Features
from models.outputs.adaptive import Adaptive
from models.outputs.log_linear import LogLinear
from models.outputs.softmax import Softmax

LENGTH, SIZE, LAYERS = 35, 256, 2
SMALL, LARGE = 42_500, 750_000
SIZES = (10_000, SMALL, 100_000, 250_000, LARGE, 1_000_000)
FEW, MANY = ("log-linear", SMALL), ("log-linear", LARGE)
CLASSES, VECTORS = "log-linear, classes", "log-linear, vectors"
DOCUMENTED = "adaptive, as documented"
PROMISES = (  # what, of which output and words to which, how many times, whether at least
    ("log-linear ÷ plain softmax over its signatures", FEW, ("floor", SMALL), 1.05, False),
    (f"log-linear at {LARGE:,} words ÷ at {SMALL:,}", MANY, FEW, 1.10, False),
    (f"softmax ÷ log-linear, {SMALL:,} words", ("softmax", SMALL), FEW, 4, True),
    (f"{DOCUMENTED} ÷ log-linear, {LARGE:,} words", (DOCUMENTED, LARGE), MANY, 12, True),
    (f"adaptive ÷ log-linear, {LARGE:,} words", ("adaptive", LARGE), MANY, 1, True),
    (f"softmax ÷ {VECTORS}, {SMALL:,} words", ("softmax", SMALL), (VECTORS, SMALL), 1, True),
)
OF_MEANING = tuple((output, words) for output in (CLASSES, VECTORS) for words in (SMALL, LARGE))
PROMISED = tuple(pair for _, *pairs, _, _ in PROMISES for pair in pairs)
COMPARED = tuple(dict.fromkeys(PROMISED + OF_MEANING))


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
    peaks = [_peak_on_gpu(s) if s.device == "cuda" else _peak_on_cpu(s) for s in settings]
    trainings = [Training(setting) for setting in settings]
    for training in trainings * 2:  # to warm up
        training.step()
    steps = [[training.step() for training in trainings] for _ in range(rounds)]
    seconds = zip(*steps, strict=True)
    return [Cost(*cost) for cost in zip(settings, seconds, peaks, strict=True)]


def _peak_on_gpu(setting: Setting) -> int:
    """The most memory that network, optimiser and a step hold."""
    before = torch.cuda.memory_allocated()
    training = Training(setting)
    training.step()  # in which the optimiser makes its state
    torch.cuda.reset_peak_memory_stats()
    training.step()
    return torch.cuda.max_memory_allocated() - before


def _peak_on_cpu(setting: Setting) -> int:
    """The same, in a process of their own: the memory of this one is what other steps left."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(_peak_of_this_process, setting).result()


def _peak_of_this_process(setting: Setting) -> int:
    before = _resident("VmRSS")
    training = Training(setting)
    training.step()
    Path("/proc/self/clear_refs").write_text("5")  # Linux forgets the peak so far
    training.step()
    return _resident("VmHWM") - before


def _resident(field: str) -> int:
    """Bytes of memory that this process holds (VmRSS) or held at most (VmHWM), by Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def all_costs(
    device: str, precision: str, sizes: Sequence[int] = SIZES, *, batch: int = 32, rounds: int = 10
) -> Iterator[Cost]:
    """The costs that the verdicts compare, all in turn, and those at each size of the vocabulary.

    The verdicts are printed as soon as they are known: the large vocabularies take long.
    """
    costs = measure(_fitting(COMPARED, device, precision, batch), rounds)
    print(*verdicts(costs), sep="\n", flush=True)
    yield from costs
    for words in sizes:
        pairs = [(output, words) for output in ("log-linear", "softmax", "adaptive")]
        yield from measure(_fitting(pairs, device, precision, batch), rounds=2)


def _fitting(
    pairs: Sequence[tuple[str, int]], device: str, precision: str, batch: int
) -> list[Setting]:
    settings = [Setting(output, words, device, precision, batch) for output, words in pairs]
    return [setting for setting in settings if setting.fits()]


def verdicts(costs: Sequence[Cost]) -> list[Verdict]:
    """What the design promises, as measured, of the costs at hand. They are of one device."""
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


def _times(above: Cost, below: Cost) -> float:
    """How many times longer a step takes, by the median of the rounds."""
    pairs = zip(above.seconds, below.seconds, strict=True)
    return statistics.median(one / other for one, other in pairs)


def rows(costs: Iterable[Cost]) -> Iterator[dict]:
    """The costs as a table's rows."""
    for cost in costs:
        yield {
            "output": cost.setting.output,
            "words": cost.setting.words,
            "device": cost.setting.device,
            "precision": cost.setting.precision,
            "batch": cost.setting.batch,
            "milliseconds": round(1e3 * statistics.median(cost.seconds), 2),
            "peak_mebibytes": round(cost.peak_bytes / 2**20, 1),
        }


def main() -> None:
    has_gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(prog="python -m models.bench", description=__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if has_gpu else "cpu")
    parser.add_argument(
        "--precision", nargs="+", choices=["float32", "bfloat16"], default=["float32"]
    )
    parser.add_argument("--words", nargs="*", type=int, default=SIZES, help="vocabulary sizes")
    parser.add_argument("--batch", type=int, default=32, help=f"texts of {LENGTH} words a step")
    parser.add_argument("--rounds", type=int, default=10, help="steps measured of each")
    parser.add_argument("--csv", type=Path, help="write the costs there")
    arguments = parser.parse_args()
    about = {"batch": arguments.batch, "rounds": arguments.rounds}
    table = []
    for precision in arguments.precision:
        for row in rows(all_costs(arguments.device, precision, arguments.words, **about)):
            print(
                "{output:>23} {words:>9,} {milliseconds:>10.2f} ms {peak_mebibytes:>8.1f} MiB  "
                "{device} {precision}".format(**row)
            )
            table.append(row)
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows(table)
