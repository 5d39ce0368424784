"""`accord lexicon`: which lexicons there are, what they say of a word, how much they cover."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.console import Configuration, Runs, Set, command, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lexicon import Lexicon

app = typer.Typer(help="Look at lexicons and swap them.", no_args_is_help=True)

Chain = Annotated[
    str, typer.Option("--lexicon", help="A chain of names or paths, separated by commas.")
]
DEFAULT_CHAIN = "closed,dela,guesser"


@command(app, "list")
def list_lexicons() -> None:
    """List all lexicons: forms, features, licence, and whether their data is here."""
    import pandas as pd

    from lexicon.coverage import features
    from lexicon.registry import find

    rows = []
    for name in _usable():
        maker = find(name)
        found = None if name == "guesser" else _load_if_present(name)
        rows.append(
            {
                "lexicon": name,
                "forms": f"{len(found):,}" if found else "–",
                "features": len(features(found)) if found else "–",
                "licence": found.licence if found else getattr(maker, "licence", "–"),
                "data": "here" if found else "any word" if name == "guesser" else "not fetched",
            }
        )
    print_table(pd.DataFrame(rows))


@command(app)
def show(
    word: Annotated[str, typer.Argument(metavar="MOT")], lexicon: Chain = DEFAULT_CHAIN
) -> None:
    """Show a word's analyses in every lexicon that is here, and its φ by the chain."""
    import pandas as pd

    from pipeline.compare.lexicon_views import features_of

    rows = []
    for name in dict.fromkeys([*(name for name in _usable() if name != "guesser"), lexicon]):
        found = _load_if_present(name)
        for row in found.lookup([word]).itertuples() if found is not None else ():
            rows.append(
                {
                    "lexicon": f"{name}: {row.source}" if "," in name else name,
                    "lemma": row.lemma,
                    "upos": row.upos,
                    "feats": row.feats or "_",
                    "weight": f"{row.weight:.2f}",
                }
            )
    print_table(pd.DataFrame(rows, columns=["lexicon", "lemma", "upos", "feats", "weight"]))
    print("\nφ by", lexicon)
    for feature, value in features_of(word, _load(lexicon)).items():
        print(f"  {feature:24} {value:g}")


@command(app)
def coverage(
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="A corpus name or a path.")],
    lexicon: Chain = "closed,dela",
    gaps: Annotated[int, typer.Option(help="So many of the most frequent gaps.")] = 20,
) -> None:
    """Show how many tokens and types of a corpus a lexicon covers, by POS where it is known."""
    from lexicon.coverage import coverage as measure
    from lexicon.coverage import gaps as find_gaps
    from pipeline.compare.lexicon_views import counted_words

    words = counted_words(corpus)
    chain = _load(lexicon)
    table = measure(chain, words)
    for share in ("token_share", "type_share"):
        table[share] = table[share].map("{:.2%}".format)
    print_table(table)
    missing = find_gaps(chain, words, gaps)
    print("\nmost frequent gaps:", ", ".join(f"{f} {n}" for f, n in missing.values.tolist()))


@command(app)
def guesser(
    lexicon: Annotated[str, typer.Argument(metavar="LEXICON")] = "dela",
    seed: Annotated[int, typer.Option(help="Of the lemmas that are left out.")] = 0,
) -> None:
    """Measure the guesser on the forms of a random tenth of the lemmas, left out of learning."""
    from lexicon.evaluation import evaluate_guesser

    figures = evaluate_guesser(_load(lexicon), seed)
    print(f"{figures.forms:,} held-out forms of {lexicon}, seed {seed}")
    for name, value in (
        ("POS", figures.pos),
        ("gender of nouns", figures.gender_of_nouns),
        ("number", figures.number),
    ):
        print(f"  {name:16} {value:.1%} right")


@command(app)
def compare(
    config: Configuration,
    lexicons: Annotated[
        str, typer.Option(help="Chains to compare, separated by spaces: 'closed,dela lefff'.")
    ] = "closed,dela,guesser closed,lefff,guesser closed,lexique,guesser",
    set: Set = None,
    runs: Runs = Path("runs"),
) -> None:
    """Train the last model of a configuration with each lexicon, and compare."""
    from pipeline.compare.lexicon_comparison import compare_lexicons

    table, folder = compare_lexicons(config, lexicons.split(), set or (), runs)
    print_table(table)
    print(f"figure: {folder / 'report' / 'perplexity.png'}")


def _usable() -> "Iterator[str]":
    """Every lexicon by name; one of another package that fails is named and left out."""
    from lexicon.reading import LexiconError
    from lexicon.registry import BUILT_IN, names

    for name in names():
        try:
            if name not in BUILT_IN:
                _load_if_present(name)
            yield name
        except LexiconError as error:
            print(f"left out: {error}", file=sys.stderr)


def _load(chain: str) -> "Lexicon":
    import lexicon
    from pipeline.data.folders import folder_of

    return lexicon.load(chain.split(","), folder=folder_of)


def _load_if_present(chain: str) -> "Lexicon | None":
    from pipeline.data.folders import MissingData

    try:
        return _load(chain)
    except MissingData:
        return None
