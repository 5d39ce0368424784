"""Queries to a trained model: `accord explain`, `generate` and `vectors`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.errors import AccordError
from accord.models.common.files import write_whole
from accord.pipeline.ask.texts import Context
from accord.pipeline.base.messages import echo
from accord.pipeline.base.tables import print_table
from accord.pipeline.cli.console import AtLeast1, command, listed, make_room
from accord.pipeline.cli.options import conditioned, expect_words, load_model

if TYPE_CHECKING:
    import pandas as pd

    from accord.pipeline.ask.generate import NewWord


@command
def explain(
    text: str,
    run: Path | None = None,
    model: str | None = None,
    words: str | None = None,
    features: str | None = None,
    top: Annotated[int, AtLeast1] = 10,
    condition: list[str] | None = None,
    context: Context | None = None,
    html: Path | None = None,
) -> None:
    """List the likeliest next words and say why they are likely, feature by feature.

    Args:
        words (WORDS): Words that may come next and are explained, separated by commas, such as
            fatiguée,fatigué; by default the likeliest.
        features (FEATURES): Features whose weights are shown after each word, separated by commas,
            such as Gender=Fem,Gender=Masc; by default the most telling.
        top: Number of likeliest next words to list.
        html: File to write a page to that explains every word of the text, and the next one.
    """
    import pandas as pd

    from accord.pipeline.ask.explain import (
        SPLIT,
        Explainer,
        beginning_words,
        page,
        split,
        telling_features,
    )

    expect_words(text)
    make_room(html)
    explainer = Explainer(conditioned(load_model(run, model), condition), context)
    place = explainer.next_word(text, listed(words or ""), top)
    choices = place.queried or place.likeliest[:SPLIT]
    followed = listed(features or "") or telling_features(choices)
    weights = explainer.weights(text, followed)  # before anything is shown: a feature may be none
    likely = [
        (word.word, f"{word.probability:.2%}", f"{word.log_p:.2f}") for word in place.likeliest
    ]
    print_table(pd.DataFrame(likely, columns=["next word", "p", "log p"]))
    echo("\nlog p as a sum, in nats:\n")
    print_table(_signed(split(choices), "term"))
    if spelled := [choice.word for choice in choices if not choice.is_known]:
        echo(f"\nnot known to the model, and therefore spelled: {', '.join(spelled)}")
    if place.sought:
        echo(f"\nmeaning: the network asks for words like {', '.join(place.sought)}")
    echo("\nthe weights of features after each word:\n")
    print_table(_signed(weights, "after"))
    if html:
        sentence = explainer.sentence(beginning_words(explainer.scorer, text))
        explained = page([sentence], replace(place, queried=tuple(choices)))
        write_whole(html, explained.encode())
        echo(f"\npage: {html}")


@command
def generate(
    run: Path | None = None,
    model: str | None = None,
    start: str = "",
    count: Annotated[int, AtLeast1] = 10,
    temperature: float = 1,
    top_k: int | None = None,
    top_p: float | None = None,
    beam: Annotated[int | None, AtLeast1] = None,
    constraint: list[str] | None = None,
    pattern: str | None = None,
    condition: list[str] | None = None,
    prime: Path | None = None,
    prime_weight: float | None = None,
    prime_tune: Path | None = None,
    spell: bool = False,
    features: bool = False,
    seed: int = 1,
) -> None:
    """Generate sentences, by sampling or by beam search.

    Args:
        start: Words that every sentence begins with.
        count: Number of sentences to generate.
        temperature: Below 1, likely words are drawn more often; above 1, rare ones.
        top_k: Draw from this number of likeliest words only.
        top_p: Draw from the likeliest words only that have this probability together.
        beam: Search with a beam of this width for the sentences that are likeliest for their
            length; draw nothing.
        constraint ([PLACE:] WHAT): Constraint on a generated word. 'NOUN Gender=Fem' is for the
            first word, a second constraint for the next one; '2: DET' is for the second word,
            '*: words=le,chat' for all. A word with several analyses needs one that fits. Can be
            repeated.
        pattern (EXPRESSION): Regular expression over parts of speech, features and words that the
            generated sentence has to match, such as 'DET ADJ* NOUN&Number=Plur . "."'. A single
            point is any word, text in quotes is this word, and /an.*eur/ matches letters.
        spell: Allow words that the model does not know, which it spells.
        features: Print the features of each word too.
        seed: Seed of the draws; the same one gives the same sentences.
    """
    from accord.pipeline.ask.generate import generate as new_sentences

    scorer = conditioned(load_model(run, model), condition, prime, prime_weight, prime_tune)
    sentences = new_sentences(
        scorer,
        start,
        count,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        beam=beam,
        constraints=constraint or (),
        pattern=pattern,
        spelled=spell,
        seed=seed,
    )
    for sentence in sentences:
        echo(sentence.text + ("" if sentence.ended else " […]"))
        if features:
            echo("    " + "…  " * bool(start) + "  ".join(map(_glossed, sentence.words)))


@command
def vectors(
    words: Annotated[list[str] | None, typer.Argument()] = None,
    run: Path | None = None,
    model: str | None = None,
    analogy: bool = False,
    odd: bool = False,
    inflection: bool = False,
    most: Annotated[int, AtLeast1] = 10,
    retrofit: str | None = None,
) -> None:
    """Compare words by their vectors: neighbours, analogies, the odd one out, inflection.

    Args:
        words (WORD...): Word to find the neighbours of; or several words.
        analogy: Take three words, and list those that are to C as B is to A.
        odd: Take three words or more; show which is unlike the others.
        inflection: Take no words, and measure how often analogies find another form of a lemma.
        most: Number of neighbours or answers.
        retrofit (lemmas|FILE): With --inflection, draw vectors together first: those of the forms
            of each lemma, or of the words in each line of a file.
    """
    from accord.pipeline.ask import vectors as read

    words = words or []
    if retrofit and not inflection:
        raise AccordError("--retrofit needs --inflection")
    if inflection:
        _expect(not words, "--inflection: expected no words", words)
        scorer = load_model(run, model)
        analyses = scorer.parts.analyses(["word", "lemma", "upos", "feats", "source"])
        analyses = analyses.astype(dict.fromkeys(("upos", "feats"), str))
        table = read.inflection(read.ReadVectors(scorer), analyses, retrofit)
        _print_numbers(table, table.columns[3:], "{:.1%}")
    elif analogy:
        _expect(len(words) == 3, "--analogy: expected three words", words)
        table = read.ReadVectors(load_model(run, model)).analogy(*words, most)
        _print_numbers(table, ["sum", "product"])
    elif odd:
        table = read.ReadVectors(load_model(run, model)).odd_one_out(words)
        _print_numbers(table, table.columns[1:])
    else:
        _expect(len(words) == 1, "expected one word, or --analogy, --odd or --inflection", words)
        table = load_model(run, model).nearest(words[0], most)
        _print_numbers(table, ["cosine"])
        if len(table) <= most:
            echo(f"the model tells no more than these {len(table) - 1} others apart")


def _expect(is_fine: bool, expected: str, words: Sequence[str]) -> None:
    if not is_fine:
        raise AccordError(f"{expected}, got {' '.join(words) or 'none'}")


def _print_numbers(table: "pd.DataFrame", columns: Iterable[str], form: str = "{:.3f}") -> None:
    print_table(table.assign(**{name: table[name].map(form.format) for name in columns}))


def _glossed(word: "NewWord") -> str:
    """Write a word with the values of its features as a gloss: `filles NOUN.Fem.Plur`."""
    values = (feature.partition("=")[2] for feature in word.features)
    return f"{word.form} {'.'.join(values)}".rstrip()


def _signed(table: "pd.DataFrame", title: str) -> "pd.DataFrame":
    """Write numbers with signs, and the index as the first column; empty cells stay empty."""
    shown = table.map(lambda number: "" if number != number else f"{number:+.2f}")
    return shown.rename_axis(title).reset_index()
