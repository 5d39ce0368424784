"""The costs of all output layers as a table, for `python -m models.bench` and `accord bench`."""

import statistics
from collections.abc import Iterable, Iterator, Sequence

from models.bench.output import CLASSES, LARGE, SMALL, VECTORS, Cost, Setting, measure
from models.bench.verdicts import PROMISES, verdicts

SIZES = (10_000, SMALL, 100_000, 250_000, LARGE, 1_000_000)
OF_MEANING = tuple((output, words) for output in (CLASSES, VECTORS) for words in (SMALL, LARGE))
PROMISED = tuple(pair for _, *pairs, _, _ in PROMISES for pair in pairs)
COMPARED = tuple(dict.fromkeys(PROMISED + OF_MEANING))


def table(
    device: str,
    precisions: Iterable[str],
    sizes: Sequence[int] = SIZES,
    *,
    batch: int = 32,
    rounds: int = 10,
) -> Iterator[dict]:
    """A row for each cost, as soon as it is measured."""
    for precision in precisions:
        yield from map(_row, _costs(device, precision, sizes, batch, rounds))


def _costs(
    device: str, precision: str, sizes: Sequence[int], batch: int, rounds: int
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


def _row(cost: Cost) -> dict:
    return {
        "output": cost.setting.output,
        "words": cost.setting.words,
        "device": cost.setting.device,
        "precision": cost.setting.precision,
        "batch": cost.setting.batch,
        "milliseconds": round(1e3 * statistics.median(cost.seconds), 2),
        "peak_mebibytes": round(cost.peak_bytes / 2**20, 1),
    }
