"""`accord lexicon`: list lexicons, look words up, measure coverage, compare."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from accord import lexicon as lexicons
from accord.errors import AccordError
from accord.lexicon import Lexicon
from accord.lexicon import guesser as measures
from accord.lexicon.analysis import LexiconError, find
from accord.lexicon.analysis import names as lexicon_names
from accord.pipeline.base.messages import counted, echo, say
from accord.pipeline.base.tables import print_table
from accord.pipeline.cli.console import (
    AtLeast1,
    Configuration,
    command,
    listed,
    make_room,
    model_names,
)
from accord.pipeline.cli.model import load_model
from accord.pipeline.data.catalogue import MissingData, folder_of
from accord.pipeline.data.templates import features_of
from accord.pipeline.study.lexicons import (
    compare_lexicons,
    counted_words,
    guesser_table,
    known_beside,
    lexicon_diff,
)

DEFAULT_CHAIN = "closed,dela,guesser"
COMPARED = ["closed,dela,guesser", "closed,lefff,guesser", "closed,lexique,guesser"]


@command
def list_lexicons() -> None:
    """List all lexicons with their size and licence, and whether their data is here."""
    rows = []
    for name, lexicon in _usable():
        data = "–" if name == "guesser" else "not fetched"
        upos, features = measures.values(lexicon) if lexicon else ((), ())
        only = ", verbs only" if {"VERB"} <= {*upos} <= {"VERB", "AUX"} else ""
        rows.append(
            {
                "lexicon": name,
                "forms": f"{len(lexicon):,}{only}" if lexicon else "–",
                "features": len(features) if lexicon else "–",
                "licence": getattr(lexicon or find(name), "licence", "–"),
                "data": "here" if lexicon else data,
            }
        )
    print_table(pd.DataFrame(rows))


@command
def show(word: str, lexicon: str = DEFAULT_CHAIN) -> None:
    """Show the analyses of a word by every lexicon with data, and its φ by --lexicon.

    Args:
        word (WORD): French word to look up.
    """
    if not word.strip():
        raise AccordError(f"expected a word to look up, got {word!r}")
    chain = _load(lexicon)
    rows = []
    for name, source in (dict(_usable()) | {lexicon: chain}).items():
        for row in source.lookup([word]).itertuples() if source is not None else ():
            rows.append(
                {
                    "lexicon": f"{name}: {row.source}" if "," in name else name,
                    "lemma": row.lemma,
                    "upos": row.upos,
                    "feats": row.feats or "_",
                    "weight": f"{row.weight:.2f}",
                }
            )
    if rows:
        print_table(pd.DataFrame(rows))
    else:
        echo(f"no lexicon with data has {word!r}")
    phi = features_of(word, chain)
    echo("\nφ by", lexicon)
    for feature, value in phi.items():
        echo(f"  {feature:24} {value:g}")
    if others := known_beside(word, chain, phi):
        added = dict.fromkeys(f"+{pair.partition('=')[0].lower()}" for pair in others)
        echo(f"not in φ: {', '.join(others)}; add it by featurise.templates: [{', '.join(added)}]")


@command
def coverage(
    corpus: Annotated[str | None, typer.Argument()] = None,
    lexicon: str = "closed,dela",
    gaps: int = 20,
    guesser: str | None = None,
    seed: int = 0,
    lowercase: bool = False,
) -> None:
    """Show how much of a corpus lexicons cover, and how well guessers analyse the rest.

    Args:
        corpus (CORPUS): Corpus to cover: its name, or its path.
        gaps: Number of uncovered words to list, the most frequent first.
        guesser (KINDS): Guessers to measure, separated by commas: 'guesser' goes by suffixes,
            'guesser-lstm' is a network that takes minutes to learn. They learn from nine tenths of
            the lemmas of --lexicon, and guess the forms of the others and the words of a CORPUS
            with parts of speech that the lexicons lack.
        seed: Seed that chooses the lemmas that are left out.
        lowercase: Read every word in lower case.
    """
    if not corpus and not guesser:
        raise AccordError("expected a CORPUS to cover, or --guesser to measure guessers")
    chain = _load(lexicon, lowercase)
    if corpus:
        words = counted_words(corpus)
        table = measures.coverage(chain, words)
        for share in ("token_share", "type_share"):
            table[share] = table[share].map("{:.2%}".format)
        print_table(table)
        missing = measures.gaps(chain, words, gaps)
        echo("\nmost frequent gaps:", ", ".join(f"{f} {n}" for f, n in missing.values.tolist()))
    if guesser:
        echo()
        print_table(guesser_table(chain, listed(guesser), corpus, seed, lowercase))


@command
def diff(
    first: str,
    second: str,
    corpus: Annotated[str, typer.Option()],
    run: Path | None = None,
    model: str | None = None,
    limit: Annotated[int | None, AtLeast1] = None,
    most: Annotated[int, AtLeast1] = 20,
    to: Path | None = None,
) -> None:
    """List words that two chains of lexicons analyse differently, and what that costs in bits.

    The model's weights say how much less likely a word becomes with its new features.

    Args:
        first (A): Lexicons before the swap, separated by commas.
        second (B): Lexicons to swap them for, separated by commas.
        corpus (CORPUS): Text whose words are compared: a name or a path.
        limit: Number of sentences to read; by default all.
        most: Number of words to print, the costliest first.
        to (CSV): File to write all changed words to.
    """
    scorer = load_model(run, model)
    make_room(to)
    diff = lexicon_diff(listed(first), listed(second), corpus, scorer, limit)
    if to:
        diff.table.to_csv(to, index=False)
    shown = diff.table[:most]
    if len(shown):
        figures = {name: shown[name].map(_signed_or_dash) for name in ("bits", "total")}
        print_table(shown.assign(**figures))
    echo(
        f"{counted(len(diff.table), 'word')} of {diff.words:,} changed, "
        f"{diff.changed_tokens / diff.tokens:.1%} of the text: "
        f"{diff.bits_per_word:+.4f} bits for each word of it"
    )


def _signed_or_dash(bits: float) -> str:
    return "–" if bits != bits else f"{bits:+.2f}"


@command
def compare(
    config: Configuration,
    lexicons: list[str] = COMPARED,
    set: list[str] | None = None,
    models: list[str] | None = None,
    seeds: int = 1,
    no_suites: bool = False,
    runs: Path = Path("runs"),
) -> None:
    """Train models of a configuration with each chain of lexicons, and compare them.

    Args:
        models (MODEL,…): Models of the configuration to train; by default its last one. Can be
            repeated.
        no_suites: Measure no agreement.
        lexicons (CHAINS): Chains to compare, in quotes: chains are separated by spaces, the
            lexicons of a chain by commas, as in 'closed,dela lefff'. Can be repeated.
    """
    chains = [*dict.fromkeys(chain for text in lexicons for chain in text.split())]
    if not chains:
        raise AccordError(f"--lexicons: expected chains of lexicons, got {lexicons[0]!r}")
    table, folder = compare_lexicons(
        config, chains, set or (), runs, model_names(models), seeds, not no_suites
    )
    print_table(table)
    echo(f"figure: {folder / 'report' / 'perplexity.png'}")
    if seeds == 1:
        say(
            "one seed each: a difference of some percent, or some points of agreement, may be "
            "chance; --seeds 3 shows how much the seed changes"
        )


def _usable() -> Iterator[tuple[str, Lexicon | None]]:
    """Yield every lexicon by name, None if its data is not fetched; one that fails is named."""
    for name in lexicon_names():
        try:
            yield name, None if name == "guesser" else _load(name)
        except MissingData:
            yield name, None
        except LexiconError as error:
            echo(f"left out: {error}", error=True)


def _load(chain: str, lowercase: bool = False) -> Lexicon:
    """Load the lexicons of a chain; unusable rows of a user's table are reported."""
    names = listed(chain)
    lexicon = lexicons.load(names, folder=folder_of, lowercase=lowercase)
    tables = {Path(name).name for name in names}
    for skipped in lexicon.skipped:
        file = skipped.example.partition(":")[0]
        say(str(skipped), detail=file not in tables)
    return lexicon
