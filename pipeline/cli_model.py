"""What a trained model can be asked: `accord explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.console import command, print_table

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.scorer import Scorer

app = typer.Typer()

TrainedRun = Annotated[Path, typer.Option("--run", help="The folder of a finished run.")]
Model = Annotated[str | None, typer.Option(help="A model of the run; default: its last.")]
DEFAULT_RUN = Path("runs/default")
SPLIT = 3  # so many of the likeliest words are split into terms where none are named


@command(app)
def explain(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The beginning of a sentence.")],
    run: TrainedRun = DEFAULT_RUN,
    model: Model = None,
    words: Annotated[
        str | None, typer.Option(help="Words to explain, separated by commas: fatiguée,fatigué.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Features to follow: Gender=Fem,Gender=Masc.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="So many of the likeliest next words.")] = 10,
    html: Annotated[
        Path | None, typer.Option(help="Also write a page that explains every word of the text.")
    ] = None,
) -> None:
    """Show what may come next and why: log p split into background, features and −log Z."""
    import pandas as pd

    from pipeline import explain_page
    from pipeline.explain import Explainer, shared_features, split

    explainer = Explainer(_load(run, model))
    place = explainer.next_word(text, words.split(",") if words else (), top)
    likely = [
        (each.word, f"{each.probability:.2%}", f"{each.log_p:.2f}") for each in place.likeliest
    ]
    print_table(pd.DataFrame(likely, columns=["next word", "p", "log p"]))
    choices = place.asked or place.likeliest[:SPLIT]
    print("\nlog p as a sum, in nats:\n")
    print_table(_signed(split(choices), "term"))
    followed = features.split(",") if features else shared_features(choices)
    print("\nthe weights of features after each word:\n")
    print_table(_signed(explainer.weights(text, followed), "after"))
    if html:
        html.write_text(explain_page.page([explainer.sentence(explainer.beginning(text))]))
        print(f"\npage: {html}")


def _signed(table: "pd.DataFrame", title: str) -> "pd.DataFrame":
    """Numbers with their signs, the index as the first column, nothing where nothing is."""
    shown = table.map(lambda number: "" if number != number else f"{number:+.2f}")
    return shown.rename_axis(title).reset_index()


def _load(run: Path, model: str | None) -> "Scorer":
    """A model of a run, by default the last that is trained."""
    from pipeline import api
    from pipeline.finished import Finished

    if model is None:
        model = [*Finished.read(run).of_stage("train")][-1]
    return api.load(run, model)
