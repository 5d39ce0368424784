"""The commands: `python -m benchmarks NAME`, and `--help` for what there is.

Each imports what it measures when it is called: `output`, `step` and `busy` need torch, numpy and
safetensors alone.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory


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
    if small := [each for each in sizes if each < outputs.SMALLEST]:
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


def step(before: Path | None, shape: str, device: str, rounds: int) -> None:
    """Measure a training step, in turn with that of another checkout."""
    from benchmarks.training_step import HERE, measure_in_turn

    checkouts = {"before": before, "now": HERE} if before else {"now": HERE}
    found = measure_in_turn(checkouts, shape, device, rounds)
    for label in checkouts:
        print(f"{label:>8} {1e3 * median(each[label] for each in found):8.2f} ms a step")
    if before:
        ratio = median(each["before"] / each["now"] for each in found)
        print(f"{ratio:8.2f} times as fast")


def busy(before: Path | None, preset: str, seconds: float, rounds: int) -> None:
    """Measure a training while another program takes one core, beside one while none does."""
    from benchmarks.training_step import HERE, measure_busy

    checkouts = {"before": before, "now": HERE} if before else {"now": HERE}
    print(f"{'words a second':>14} {'quiet':>9} {'one core taken':>15} {'quiet ÷ taken':>14}")
    for label, checkout in checkouts.items():
        found = measure_busy(checkout, preset, seconds, rounds)
        print(f"{label:>14} {found.quiet:9,.0f} {found.taken:15,.0f} {found.ratio:14.2f}")


def lexicons(names: list[str]) -> None:
    """Measure how fast lexicons are parsed, opened and looked up."""
    import pandas as pd

    from accord.pipeline.base.tables import print_table
    from accord.pipeline.data.catalogue import folder_of
    from benchmarks.lookups import measure_lexicon

    table = pd.DataFrame([measure_lexicon(name, folder=folder_of) for name in names])
    digits = {"parse_seconds": 1, "open_seconds": 3}
    for column in table.columns.drop("name"):
        table[column] = table[column].map(f"{{:,.{digits.get(column, 0)}f}}".format)
    print_table(table)


def open_vocabulary(rounds: int) -> None:
    """Measure how fast text is scored, spelling included, with few and with many known words."""
    from benchmarks.lookups import scoring_speeds
    from benchmarks.outputs import LARGE, SMALL

    found = scoring_speeds((SMALL, LARGE), rounds)
    for size, speed in found.items():
        print(f"{size:>9,} known words: {speed:>8,.0f} words scored a second")
    print(f"{LARGE:,} known words: {found[LARGE] / found[SMALL]:.2f} times as fast as {SMALL:,}")


def names(source: str, run: Path | None, documents: int, words: int, seed: int) -> None:
    """Measure what a name costs when it comes again in a document, by context and cache."""
    from accord import load
    from accord.pipeline.base.tables import print_table
    from benchmarks.names import documents as read
    from benchmarks.names import measure

    table = measure(load(run), read(source, documents, words, seed))
    digits = {"λ": 3, "bits per character": 3, "first": 1, "again": 1}
    for column, count in digits.items():
        table[column] = table[column].map(f"{{:.{count}f}}".format)
    print_table(table)


def features(names: list[str]) -> None:
    """Measure how long Φ and its signatures take to build for all forms of some lexicons."""
    from accord.pipeline.data.catalogue import folder_of
    from benchmarks.lookups import measure_features

    found = measure_features(names, folder=folder_of)
    print(
        f"{found.forms:,} forms, {found.signatures:,} signatures: {found.seconds:.1f} s, "
        f"{found.mebibytes:,.0f} MiB at most"
    )


def memory(words: int, processes: int, scratch: Path | None) -> None:
    """Measure the peak memory of each stage that prepares a text, on two generated texts."""
    from accord.pipeline.base.tables import print_table
    from benchmarks.preparation import compared, measure

    overrides = [f"tokenise.processes={processes}"]
    costs = []
    for amount in (words, 10 * words):
        with TemporaryDirectory(dir=scratch) as folder:
            costs += measure(amount, overrides, Path(folder))
    print_table(compared(costs))


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
        for found in measure(ways, data, Path(folder)):
            if isinstance(found, StageCost):
                print(
                    f"{found.way:>10} {found.stage:>10} {found.seconds:8.1f} s {found.cpu:8.1f} s "
                    f"of CPU {words / found.cpu:11,.0f} words per CPU second "
                    f"{found.mebibytes:7,.0f} MiB",
                    flush=True,
                )
            else:
                print(found, flush=True)


def amounts(folder: Path, words: list[int]) -> None:
    """Write texts of several sizes, each the beginning of the next."""
    from benchmarks.amounts import write

    write(words, folder)


def sweep(rounds: int) -> None:
    """Measure six empty tasks and six trainings of `tiny`, by a pool and by Ray."""
    from benchmarks.scale import empty_tasks, sweeps

    with TemporaryDirectory() as folder:
        for way in ("pool", "ray"):
            print(f"{way:>5} {empty_tasks(way, Path(folder)):7.1f} s, empty", flush=True)
        for way, seconds in sweeps(rounds, Path(folder)):
            print(f"{way:>5} {seconds:7.1f} s", flush=True)


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


def load(run: list[Path], questions: int, at_once: int) -> None:
    """Measure `accord page` under load, and check that each answer is the same as alone."""
    import pandas as pd

    from accord.corpora import sources
    from accord.pipeline.base.tables import print_table
    from benchmarks.page import WARM_UP, differing, measure_load

    texts = [sentence.text for sentence in sources.read("tiny")]
    found = measure_load(run, texts, questions, at_once)
    passes = {"in a row": found.in_a_row, f"{at_once} at once": found.at_once}
    print_table(
        pd.DataFrame(
            {
                f"{questions:,} questions": name,
                "seconds": f"{each.seconds:,.1f}",
                "median wait, ms": f"{1000 * median(each.waits):,.0f}",
                "longest wait, ms": f"{1000 * max(each.waits):,.0f}",
                "memory by quarters, MiB": ", ".join(f"{size >> 20:,}" for size in each.memory),
            }
            for name, each in passes.items()
        )
    )
    print(f"memory after {WARM_UP} questions before them: {found.memory / (1 << 20):,.0f} MiB")
    if differ := differing(found):
        raise SystemExit(
            f"expected the same answers however many ask; {len(differ):,} of {questions:,} differ"
        )
    print("every answer is the same, byte for byte")


def crowd(run: list[Path], at_once: int) -> None:
    """Measure how long a sentence takes while one of many askers has the worst text there is."""
    import pandas as pd

    from accord.corpora import sources
    from accord.pipeline.base.tables import print_table
    from benchmarks.page import measure_crowd

    texts = [sentence.text for sentence in sources.read("tiny")]
    print_table(
        pd.DataFrame(
            {
                "one asker has": each.text,
                f"longest wait of {at_once - 1} others, s": f"{max(each.waits):.2f}",
                "median, s": f"{median(each.waits):.2f}",
                "the page itself, s": f"{each.page:.2f}",
                "the long text, s": f"{each.seconds:.1f}",
            }
            for each in measure_crowd(run, texts, at_once)
        )
    )


def layout(checkout: list[Path], names: bool) -> None:
    """Count files, importers and the files on three paths, of one checkout or several."""
    from benchmarks.layout import HERE, table

    print(table(checkout or [HERE], names))


def mutate(only: str) -> None:
    """Make fifty mistakes in the core, one by one, and list those that no test notices."""
    from benchmarks.mutate import report

    survivors = report(only)
    print(f"{len(survivors)} survived")
    for mutation, line, *_ in survivors:
        print(f"{mutation.file}:{line}: {mutation.mistake}")


def flips(count: int, seed: int) -> None:
    """Flip random bits in every kind of file that Accord reads: found, made anew or harmless."""
    import pandas as pd

    from accord.pipeline.base.tables import markdown
    from benchmarks.flips import measure as flip_bits

    with TemporaryDirectory() as scratch:
        found, bad = flip_bits(count, seed, Path(scratch))
    table = pd.DataFrame(found).T.fillna(0).astype(int)
    table.loc["all"] = table.sum()
    print(markdown(table.rename_axis("what was read").reset_index()))
    print(*bad, sep="\n", end="")
    sys.exit(bool(bad))


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
    """Every command with its options."""
    whole = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure speed, memory and shape on this machine."
    )
    commands = whole.add_subparsers(metavar="NAME", required=True)

    def command(name: str, function: Callable[..., None]) -> Callable[..., argparse.Action]:
        added = commands.add_parser(name, help=function.__doc__, description=function.__doc__)
        added.set_defaults(function=function)
        return added.add_argument

    def rounds(option: Callable[..., argparse.Action], default: int, of: str) -> None:
        option("--rounds", type=int, default=default, help=f"{of} (default: {default})")

    option = command("output", output)
    option("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    option("--precision", nargs="+", choices=["float32", "bfloat16"], default=["float32"])
    option("--words", nargs="*", type=int, help="vocabulary sizes beside those always compared")
    option("--batch", type=int, default=32, help="texts a step (default: 32)")
    rounds(option, 10, "steps measured of each output layer")
    option("--csv", dest="table", type=Path, help="file to write the table to")
    option("--figure", type=Path, help="file to write the figure to")

    option = command("step", step)
    option("--before", type=Path, help="another checkout, measured in turn")
    option("--shape", choices=["default", "strong", "meaning"], default="default", help="preset")
    option("--device", choices=["cpu", "cuda"], default="cpu")
    rounds(option, 100, "turns measured of each")

    option = command("busy", busy)
    option("--before", type=Path, metavar="CHECKOUT", help="another checkout, measured first")
    option("--preset", choices=["default", "strong", "meaning"], default="default")
    option("--seconds", type=float, default=60, help="that each measurement takes (default: 60)")
    rounds(option, 3, "times that the core is taken and left")

    option = command("lexicon", lexicons)
    option("names", nargs="*", metavar="NAME", default=["dela", "lefff", "lexique"])

    rounds(command("open", open_vocabulary), 5, "times to score the text with each")

    option = command("names", names)
    option("source", help="name of a corpus, or a text whose documents end with a blank line")
    option("--run", type=Path, metavar="FOLDER|ID", help="model; default: the bundled one")
    option("--documents", type=int, default=60, help="drawn from the source (default: 60)")
    option("--words", type=int, default=2000, help="that are read of each (default: 2000)")
    option("--seed", type=int, default=1, help="that draws the documents (default: 1)")

    option = command("features", features)
    option("names", nargs="*", metavar="NAME", default=["closed", "lefff", "dela", "lexique"])

    option = command("memory", memory)
    option("--words", type=int, default=5_000_000, help="of the shorter text (the other: tenfold)")
    option("--processes", type=int, default=1, help="that tokenise")
    option("--scratch", type=Path, help="folder to prepare the texts in; they are removed after")

    option = command("scale", scale)
    option("--words", type=int, default=1_000_000, help="of the text (default: 1,000,000)")
    option("--shards", type=int, default=8, help="of each stage (default: 8)")
    option("--workers", type=int, nargs="*", default=[1, 2], help="at a time (default: 1 and 2)")
    option("--scratch", type=Path, help="folder to prepare the texts in; they are removed after")

    option = command("amounts", amounts)
    option("folder", type=Path, help="new; gets a folder for each size")
    option("words", type=int, nargs="+", help="sizes of the training text")

    rounds(command("sweep", sweep), 2, "times that each way is measured")

    runs = {"action": "append", "type": Path, "default": [], "metavar": "FOLDER|ID"}
    option = command("page", page)
    option("--run", **runs, help="as `accord page` takes it; can be repeated")
    option("--sentences", type=int, default=200, help="sentences to type (default: 200)")

    option = command("load", load)
    option("--run", **runs, help="as `accord page` takes it; can be repeated")
    option("--questions", type=int, default=1000, help="each another one (default: 1000)")
    option("--at-once", type=int, default=20, help="askers who ask them again (default: 20)")

    option = command("crowd", crowd)
    option("--run", **runs, help="as `accord page` takes it; can be repeated")
    option("--at-once", type=int, default=50, help="askers (default: 50)")

    option = command("inference", inference)
    option("--sentences", type=int, default=5000, help="sentences to compare (default: 5000)")
    option("--corpus", dest="corpora", action="append", default=[], help="can be repeated")

    option = command("layout", layout)
    option("--checkout", action="append", type=Path, default=[], help="default: this one")
    option("--names", action="store_true", help="list the files on each path too")

    option = command("flips", flips)
    option("--count", type=int, default=200, help="bits that are flipped (default: 200)")
    option("--seed", type=int, default=1, help="that draws files and bits (default: 1)")

    option = command("mutate", mutate)
    option("--only", default="", metavar="TEXT", help="files whose names have it, such as models/")
    return whole


def main() -> None:
    given = vars(parser().parse_args())
    given.pop("function")(**given)


if __name__ == "__main__":
    main()
