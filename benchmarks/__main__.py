"""The commands: `python -m benchmarks NAME`, and `--help` for what there is.

Each imports what it measures when it is called: `output` and `step` need torch, numpy and
safetensors alone.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parents[1]


def output(
    device: str | None,
    precision: list[str],
    words: list[int] | None,
    batch: int,
    rounds: int,
    table: Path | None,
    figure: Path | None,
) -> None:
    """Measure a training step of each output layer as the vocabulary grows."""
    import torch

    from benchmarks import outputs

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    sizes = outputs.SIZES if words is None else words
    if small := [size for size in sizes if size < outputs.SMALLEST]:
        raise SystemExit(f"--words {small[0]:,}: expected at least {outputs.SMALLEST:,}")
    rows = []
    for row in outputs.table(device, precision, sizes, batch=batch, rounds=rounds):
        print(
            "{output:>23} {words:>9,} {milliseconds:>10.2f} ms {peak_mebibytes:>8.1f} MiB  "
            "{device} {precision}".format(**row)
        )
        rows.append(row)
    if table:
        outputs.save(rows, table)
    if figure:
        outputs.draw(rows, figure)


def step(other: Path | None, shape: str, device: str, rounds: int) -> None:
    """Measure a training step, in turn with that of another checkout."""
    from benchmarks.training_step import measure_in_turn

    checkouts = {"before": other, "now": HERE} if other else {"now": HERE}
    seconds = measure_in_turn(checkouts, shape, device, rounds)
    for label in checkouts:
        print(f"{label:>8} {1e3 * median(turn[label] for turn in seconds):8.2f} ms a step")
    if other:
        ratio = median(turn["before"] / turn["now"] for turn in seconds)
        print(f"{ratio:8.2f} times as fast")


def scale(words: int, shards: int, workers: list[int], scratch: Path | None) -> None:
    """Measure each stage that prepares news and novels, at once and in shards."""
    from benchmarks.scale import StageCost, cut, measure

    ways = {"at once": []}
    for count in workers:
        ways[f"{count} workers"] = ["--shards", str(shards), "--at-once", str(count)]
    with TemporaryDirectory(dir=scratch) as folder:
        data = Path(folder, "data")
        data.mkdir()
        cut(words, data)
        for result in measure(ways, data, Path(folder)):
            if isinstance(result, StageCost):
                way, stage, seconds, cpu, mebibytes = result
                result = (
                    f"{way:>10} {stage:>10} {seconds:8.1f} s {cpu:8.1f} s of CPU "
                    f"{words / cpu:11,.0f} words per CPU second {mebibytes:7,.0f} MiB"
                )
            print(result, flush=True)


def page(run: list[Path], sentences: int) -> None:
    """Measure how long `accord page` takes to start, and to answer each sentence typed into it."""
    from itertools import islice

    from accord.corpora import sources
    from benchmarks.page import measure_waits

    texts = [sentence.text for sentence in islice(sources.read("tiny"), sentences)]
    waits = measure_waits(run, texts)
    print(
        f"the page is there after {waits.page:.1f} s, its first answer after {waits.answer:.1f} s"
    )
    print(
        f"{len(texts)} sentences typed: {1000 * median(waits.sentences):.0f} ms each (median), "
        f"{1000 * max(waits.sentences):.0f} ms at worst"
    )


def layout(old: Path, new: Path) -> None:
    """Count lines, files and commands of two checkouts, and the files that three paths touch."""
    from benchmarks.layout import table

    print(table(old, new))


def mutate(only: str) -> None:
    """Make mistakes in the core, one by one, and list those that no test notices."""
    from benchmarks.mutate import report

    survivors = report(only)
    print(f"{len(survivors)} survived")
    for mutation, line, *_ in survivors:
        print(f"{mutation.file}:{line}: {mutation.mistake}")


def inference(sentences: int, corpora: list[str]) -> None:
    """Compare numpy and torch on the bundled model: differences, words a second, cold starts."""
    from benchmarks import inference as measured

    for name, seconds, peak in measured.starts():
        print(f"accord {name}: {seconds:.2f} s of user CPU, {peak:,.0f} MB at its peak")
    texts = measured.texts(corpora or measured.CORPORA, sentences)
    for name, speed in measured.speeds(texts, (1, 2)):
        print(f"{name}: {speed:,.0f} words a second")
    for name, value in measured.differences(texts):
        print(f"{name}: {value:,.6g}")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and their options."""
    whole = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure speed, memory and shape on this machine."
    )
    commands = whole.add_subparsers(metavar="NAME", required=True)

    def command(name: str, function: Callable[..., None]) -> Callable[..., argparse.Action]:
        added = commands.add_parser(name, help=function.__doc__, description=function.__doc__)
        added.set_defaults(function=function)
        return added.add_argument

    def rounds(option: Callable[..., argparse.Action], default: int, help: str) -> None:
        option("--rounds", type=int, default=default, help=f"{help} (default: {default})")

    option = command("output", output)
    option("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    option("--precision", nargs="+", choices=["float32", "bfloat16"], default=["float32"])
    option("--words", nargs="*", type=int, help="vocabulary sizes beside those always compared")
    option("--batch", type=int, default=32, help="texts a step (default: 32)")
    rounds(option, 10, "steps measured of each output layer")
    option("--csv", dest="table", type=Path, help="file to write the table to")
    option("--figure", type=Path, help="file to write the figure to")

    option = command("step", step)
    option("--before", dest="other", type=Path, help="another checkout, measured in turn")
    option("--shape", choices=["default", "strong", "meaning"], default="default", help="preset")
    option("--device", choices=["cpu", "cuda"], default="cpu")
    rounds(option, 100, "turns measured of each")

    option = command("scale", scale)
    option("--words", type=int, default=1_000_000, help="of the text (default: 1,000,000)")
    option("--shards", type=int, default=8, help="of each stage (default: 8)")
    option("--workers", type=int, nargs="*", default=[1, 2], help="at a time (default: 1 and 2)")
    option("--scratch", type=Path, help="folder to prepare the texts in; they are removed after")

    runs = {"action": "append", "type": Path, "default": [], "metavar": "FOLDER|ID"}
    option = command("page", page)
    option("--run", **runs, help="as `accord page` takes it; can be repeated")
    option("--sentences", type=int, default=200, help="sentences to type (default: 200)")

    option = command("inference", inference)
    option("--sentences", type=int, default=5000, help="sentences to compare (default: 5000)")
    option("--corpus", dest="corpora", action="append", default=[], help="can be repeated")

    option = command("layout", layout)
    option("old", type=Path, help="a checkout")
    option("new", type=Path, nargs="?", default=HERE, help="another; default: this one")

    option = command("mutate", mutate)
    option("--only", default="", metavar="TEXT", help="files whose names have it, such as models/")
    return whole


def main() -> None:
    arguments = vars(parser().parse_args())
    arguments.pop("function")(**arguments)


if __name__ == "__main__":
    main()
