"""`accord bench`: speed and memory, measured side by side on this machine."""

from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from pipeline.cli.console import Group, command, listed, make_room, print_table
from pipeline.cli.page import Served

app = typer.Typer(cls=Group, help="Measure speed and memory on this machine.", no_args_is_help=True)


@command(app)
def lexicon(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Lexicons to measure. Without any: dela, lefff and lexique."
        ),
    ] = None,
) -> None:
    """Measure how fast lexicons are parsed, opened and looked up."""
    import pandas as pd

    from lexicon.bench import measure
    from pipeline.data.folders import folder_of

    speeds = [measure(name, folder=folder_of) for name in names or ["dela", "lefff", "lexique"]]
    table = pd.DataFrame(speeds)
    for column, digits in (
        ("forms", 0),
        ("parse_seconds", 1),
        ("open_seconds", 3),
        ("lookup_per_second", 0),
        ("analyses_per_second", 0),
    ):
        table[column] = table[column].map(f"{{:,.{digits}f}}".format)
    print_table(table)


@command(app)
def output(
    csv: Annotated[Path, typer.Option(help="File to write the table to.")] = Path(
        "bench-output.csv"
    ),
    figure: Annotated[Path, typer.Option(help="File to write the figure to.")] = Path(
        "bench-output.png"
    ),
    rounds: Annotated[
        int, typer.Option(help="Number of steps to measure of each output layer.")
    ] = 10,
) -> None:
    """Measure how long a training step of each output layer takes as the vocabulary grows."""
    import pandas as pd
    import torch

    from models.bench.table import table
    from pipeline.display.drawing import save
    from pipeline.display.figures import output_costs
    from pipeline.display.progress import track

    make_room(csv, figure)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    precisions = ("float32", "bfloat16") if device == "cuda" else ("float32",)
    costs = pd.DataFrame(track(table(device, precisions, rounds=rounds), "costs"))
    costs.to_csv(csv, index=False)
    print_table(costs)
    save(output_costs(costs), figure)
    print(f"costs: {csv}, figure: {figure}")


@command(app)
def features(
    lexicon: Annotated[
        str, typer.Option(help="Lexicons to take all forms of, separated by commas.")
    ] = "closed,lefff,dela,lexique",
) -> None:
    """Measure how long Φ and its signatures take to build for all forms of some lexicons."""
    import resource
    import time

    import pandas as pd

    import lexicon as lexicons
    from pipeline.data.folders import folder_of
    from pipeline.stages import featurise

    chain = lexicons.load(listed(lexicon), folder=folder_of)
    forms = sorted(chain)
    start = time.perf_counter()
    types = pd.DataFrame({"form": forms, "count": 0})
    phi = featurise.build(featurise.Params(), types, chain.lookup(forms)).phi
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(forms):,} forms, {phi.signature_count:,} signatures: {seconds:.1f} s, "
        f"{peak:,.0f} MiB at most"
    )


@command(app)
def memory(
    words: Annotated[
        int, typer.Option(help="Number of words of the shorter text; the other has ten times more.")
    ] = 5_000_000,
    processes: Annotated[int, typer.Option(help="Number of processes that tokenise.")] = 1,
    scratch: Annotated[
        Path | None,
        typer.Option(help="Folder to prepare the texts in; they are removed afterwards."),
    ] = None,
) -> None:
    """Measure the peak memory of each stage that prepares a text, on two generated texts."""
    from tempfile import TemporaryDirectory

    from pipeline.cli.bench_memory import compared, measure

    overrides = [f"tokenise.processes={processes}"]
    costs = []
    for amount in (words, 10 * words):
        with TemporaryDirectory(dir=scratch) as folder:
            costs += measure(amount, overrides, Path(folder))
    print_table(compared(costs))


@command(app, "open")
def open_vocabulary(
    rounds: Annotated[int, typer.Option(help="Number of times to score the text with each.")] = 5,
) -> None:
    """Measure how fast text is scored, spelling included, with few and with many known words."""
    import pandas as pd

    from models.bench.open_vocabulary import speeds
    from models.bench.output import LARGE, SMALL

    found = speeds((SMALL, LARGE), rounds)
    rows = [
        {"known words": f"{size:,}", "words scored a second": f"{speed:,.0f}"}
        for size, speed in found.items()
    ]
    print_table(pd.DataFrame(rows))
    print(f"{LARGE:,} known words: {found[LARGE] / found[SMALL]:.2f} times as fast as {SMALL:,}")


@command(app)
def busy(
    rounds: Annotated[
        int, typer.Option(help="Number of times that the core is taken and left.")
    ] = 5,
) -> None:
    """Measure a training step while another program takes one core, beside one while none does."""
    from models.bench.busy import measure

    quiet, taken = measure(rounds)
    print(f"a step: {quiet:.3f} s, with one core taken {taken:.3f} s: {taken / quiet:.2f} times")


@command(app)
def page(
    run: Served = None,
    sentences: Annotated[int, typer.Option(min=1, help="Number of sentences to type.")] = 200,
) -> None:
    """Measure how long `accord page` takes to start, and to answer each sentence typed into it."""
    from itertools import islice

    import corpora
    from pipeline.page.bench import measure

    texts = [sentence.text for sentence in islice(corpora.read("tiny"), sentences)]
    waits = measure(run or [], texts)
    print(
        f"the page is there after {waits.page:.1f} s, its first answer after {waits.answer:.1f} s"
    )
    print(
        f"{len(texts)} sentences typed: {1000 * median(waits.sentences):.0f} ms each (median), "
        f"{1000 * max(waits.sentences):.0f} ms at worst"
    )


@command(app)
def load(
    run: Served = None,
    questions: Annotated[
        int, typer.Option(min=1, help="Number of questions, each another one.")
    ] = 1000,
    at_once: Annotated[
        int, typer.Option(min=2, help="Number of askers who ask them again, all at once.")
    ] = 20,
) -> None:
    """Measure `accord page` under load, and check that each answer is the same as alone."""
    import pandas as pd

    import corpora
    from pipeline.page.load import WARM_UP, differing, measure

    texts = [sentence.text for sentence in corpora.read("tiny")]
    found = measure(run or [], texts, questions, at_once)
    passes = {"in a row": found.in_a_row, f"{at_once} at once": found.at_once}
    print_table(
        pd.DataFrame(
            {
                f"{questions:,} questions": name,
                "seconds": f"{each.seconds:,.1f}",
                "median wait, ms": f"{1000 * median(each.waits):,.0f}",
                "longest wait, ms": f"{1000 * max(each.waits):,.0f}",
                "memory, MiB": f"{each.memory / (1 << 20):,.0f}",
            }
            for name, each in passes.items()
        )
    )
    print(f"memory after {WARM_UP} questions before them: {found.memory / (1 << 20):,.0f} MiB")
    if differ := differing(found):
        raise ValueError(
            f"expected the same answers however many ask; {len(differ):,} of {questions:,} differ"
        )
    print("every answer is the same, byte for byte")
