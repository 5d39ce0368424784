"""What a trained model can be asked: `accord explain`, `generate`, `rescore`; and its vectors."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.console import command, print_table
from pipeline.inference.default_model import DEFAULT_RUN

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.inference.generate import NewWord
    from pipeline.inference.scorer import Scorer

app = typer.Typer()

TrainedRun = Annotated[
    Path, typer.Option("--run", help="The folder of a run, or of an exported model.")
]
Model = Annotated[str | None, typer.Option(help="A model of the run; default: its last.")]
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

    from pipeline.inference import explain_page
    from pipeline.inference.explain import Explainer, split, telling_features

    explainer = Explainer(load_model(run, model))
    place = explainer.next_word(text, words.split(",") if words else (), top)
    choices = place.asked or place.likeliest[:SPLIT]
    followed = features.split(",") if features else telling_features(choices)
    weights = explainer.weights(text, followed)  # before anything is shown: a feature may be none
    likely = [
        (each.word, f"{each.probability:.2%}", f"{each.log_p:.2f}") for each in place.likeliest
    ]
    print_table(pd.DataFrame(likely, columns=["next word", "p", "log p"]))
    print("\nlog p as a sum, in nats:\n")
    print_table(_signed(split(choices), "term"))
    print("\nthe weights of features after each word:\n")
    print_table(_signed(weights, "after"))
    if html:
        page = explain_page.page([explainer.sentence(explainer.beginning(text))])
        html.write_text(page, encoding="utf-8")
        print(f"\npage: {html}")


@command(app)
def rescore(
    nbest: Annotated[
        Path, typer.Argument(metavar="NBEST", help="ID ||| HYPOTHESIS ||| SCORE, or JSON lines.")
    ],
    tune: Annotated[
        Path | None, typer.Option(metavar="DEV", help="n-best lists with references, for weights.")
    ] = None,
    run: TrainedRun = DEFAULT_RUN,
    model: Model = None,
    model_weight: Annotated[float, typer.Option(help="Of log p, where none is tuned.")] = 1.0,
    word_weight: Annotated[float, typer.Option(help="Of each word, where none is tuned.")] = 0.0,
) -> None:
    """Rank n-best lists anew with a model; print the best of each, and word error rates."""
    from pipeline.display.progress import say
    from pipeline.inference.nbest import read_nbest
    from pipeline.inference.rescore import Terms, Weights, error_rate, tuned

    lists, development = read_nbest(nbest), read_nbest(tune) if tune else []
    scorer = load_model(run, model)
    weights = Weights(model_weight, word_weight)
    if tune:
        weights = tuned(development, Terms.of(development, scorer))
        say(f"log p × {weights.model:.4g}, a word {weights.word:+.4g}")
    terms = Terms.of(lists, scorer)
    if terms.unknown:
        say(f"lists with words that the model does not know stay: {', '.join(terms.unknown)}")
    chosen = weights.best(terms)
    for found, at in zip(lists, chosen, strict=True):
        print(f"{found.id} ||| {found.texts[at]}")
    if all(found.reference for found in lists):
        before = error_rate(lists, Weights(0, 0).best(terms))
        say(f"word error rate: {before:.2%} before, {error_rate(lists, chosen):.2%} after")


@command(app)
def generate(
    run: TrainedRun = DEFAULT_RUN,
    model: Model = None,
    start: Annotated[str, typer.Option(help="The beginning of every sentence.")] = "",
    count: Annotated[int, typer.Option(min=1, help="So many sentences.")] = 10,
    temperature: Annotated[float, typer.Option(help="Below 1: likelier words; above: bolder.")] = 1,
    top_k: Annotated[int | None, typer.Option(help="Only so many likeliest words.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Only words with this much mass.")] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Search the likeliest sentences, so many at a time.")
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(help="'2: NOUN Gender=Fem', 'DET' in turn, '*: words=le,chat'; repeatable."),
    ] = None,
    spell: Annotated[
        bool, typer.Option("--spell", help="Let words come that are not known, spelled.")
    ] = False,
    features: Annotated[bool, typer.Option("--features", help="Show those of each word.")] = False,
    seed: Annotated[int, typer.Option(help="The same one draws the same sentences.")] = 1,
) -> None:
    """Write new sentences: drawn by chance, or the likeliest by beam search."""
    from models.network.generation import Sampling
    from pipeline.inference.generate import Generator

    sampling = Sampling(temperature, top_k, top_p)
    if beam and sampling != Sampling():
        raise ValueError("--beam searches and draws nothing: expected no temperature, top-k, top-p")
    generator = Generator(load_model(run, model), start, constraint or (), spell)
    sentences = (
        generator.likeliest(count, beam) if beam else generator.sample(count, sampling, seed)
    )
    for sentence in sentences:
        print(sentence.text + ("" if sentence.ended else " […]"))
        if features:
            print("    " + "…  " * bool(start) + "  ".join(map(_glossed, sentence.words)))


@command(app)
def nearest(
    word: Annotated[str, typer.Argument(metavar="WORD")],
    run: TrainedRun = DEFAULT_RUN,
    model: Model = None,
    most: Annotated[int, typer.Option(min=1, help="So many neighbours.")] = 10,
) -> None:
    """Show the words whose vectors are nearest to a word's own."""
    from pipeline.inference.vectors import Vectors

    table = Vectors(load_model(run, model)).nearest(word, most)
    print_table(table.assign(cosine=table["cosine"].map("{:.3f}".format)))


@command(app)
def inflection(run: TrainedRun = DEFAULT_RUN, model: Model = None) -> None:
    """Show how often vector arithmetic finds another form of a lemma, judged by the lexicon."""
    import pandas as pd

    from pipeline.inference.vectors import Vectors
    from pipeline.inference.vectors import inflection as measure

    scorer = load_model(run, model)
    analyses = pd.read_parquet(scorer.artefacts["analyse"] / "analyses.parquet")
    table = measure(Vectors(scorer), analyses)
    shares = table.columns[3:]
    print_table(table.assign(**{name: table[name].map("{:.1%}".format) for name in shares}))


def _glossed(word: "NewWord") -> str:
    """A word and the values of its features, as linguists gloss: `filles NOUN.Fem.Plur`."""
    values = (feature.partition("=")[2] for feature in word.features)
    return f"{word.form} {'.'.join(values)}".rstrip()


def _signed(table: "pd.DataFrame", title: str) -> "pd.DataFrame":
    """Numbers with their signs, the index as the first column, nothing where nothing is."""
    shown = table.map(lambda number: "" if number != number else f"{number:+.2f}")
    return shown.rename_axis(title).reset_index()


def load_model(run: Path, model: str | None) -> "Scorer":
    """`api.load`, imported when a command needs it."""
    from pipeline import api

    return api.load(run, model)
