"""Explained sentences as HTML: point at a word, tap it or go to it by arrow keys to see why.

Each sentence is a group of radio buttons, one a word, so the browser itself brings keyboard and
touch; there is no script, and a notebook shows the same section as the report.
"""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from zlib import crc32

import pandas as pd

from accord.pipeline.ask.explain import SPELLED, Choice, Explainer, Place, label
from accord.pipeline.ask.reader import BITS
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.arrow import open_table
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.names import END
from accord.pipeline.base.tables import html_page, html_table
from accord.pipeline.data.vocabulary import IDENTITY
from accord.pipeline.model.folder import open_folder

SAMPLES, SHORT = 3, range(5, 13)  # so many sentences of so many words are samples
TERMS = 10  # features shown of a word; the smallest beyond them are summed
SHOWN = {END: "⏎"}  # the end of a sentence, where words are shown
GAP = "…"  # the place of the next word, where words are asked about that none has taken


def page(sentences: Sequence[Sequence[Place]], gap: Place | None = None) -> str:
    """Return a whole page; `gap` explains the word that follows the last sentence."""
    return html_page("Explained", section(sentences, gap))


def section(sentences: Sequence[Sequence[Place]], gap: Place | None = None) -> str:
    """Return explained sentences as part of a page."""
    style = (files("accord.pipeline.ask") / "explain.css").read_text(encoding="utf-8")
    gaps = [*[None] * (len(sentences) - 1), gap]
    return f"<style>{style}</style>\n" + "\n".join(map(_sentence, sentences, gaps))


def samples(models: Mapping[str, Inputs]) -> str:
    """Return the first short validation sentences as part of the report.

    The first model explains them; each other reads them too, word by word beside it.
    """
    model, *others = models
    explainer = Explainer(Scorer(open_folder(models[model]["train"])))
    words = open_table(models[model]["tokenise"] / "valid.arrow")["words"].to_pylist()
    knows = explainer.scorer.vocabulary.knows
    chosen = [sentence for sentence in words if len(sentence) in SHORT and knows(sentence)]
    chosen = chosen[:SAMPLES]
    explained = [explainer.sentence(words) for words in chosen]
    scorers = {name: Scorer(open_folder(models[name]["train"])) for name in others}
    scorers[model] = explainer.scorer
    tables = [_surprisals(words, scorers) for words in chosen] if others else []
    title = "<h2>Word by word</h2><p>Surprisal of the same sentences in bits.</p>"
    return f"""<h2>Why {escape(model)} chose a word</h2>
<p>Point at a word, tap it or reach it with the arrow keys. Its log-probability is the sum of a
background, what each of its features gave (form: the word's own; @notTop: that of all rarer words
together), a normaliser that all words share, and what spelling the word letter by letter adds. The
stronger the line under a word, the more it surprised the model.</p>
{section(explained)}
{title * bool(tables)}{"".join(tables)}"""


def _surprisals(words: Sequence[str], scorers: Mapping[str, Scorer]) -> str:
    """Return a table of a sentence: a row for each model, the surprisal of each word in bits."""
    rows = []
    for name, scorer in scorers.items():
        bits = -BITS * scorer.score_encoded(*scorer.encoded([words]))[0]
        rows.append([name, *map("{:.1f}".format, [*bits, bits.sum()])])
    return html_table(pd.DataFrame(rows, columns=["model", *words, SHOWN[END], "all"]))


def _sentence(positions: Sequence[Place], gap: Place | None = None) -> str:
    """Return the words of a sentence. A gap stands in place of the end and is open at first.

    Otherwise the word is open that shared features raise most.
    """
    group = f"sentence-{crc32(repr(positions).encode()):x}"  # its own, and the same in every run
    shared = [
        sum(term.nats for term in place.asked[0].terms if not term.feature.startswith(IDENTITY))
        for place in positions
    ]
    opened = len(positions) - 1 if gap else shared.index(max(shared))
    words = "".join(
        _word(f"{group}-{number}", group, place, number == opened, place is gap)
        for number, place in enumerate([*positions[:-1], gap or positions[-1]])
    )
    return f'<fieldset class="explained"><legend hidden>A sentence</legend>{words}</fieldset>'


def _word(id: str, group: str, place: Place, is_open: bool, is_gap: bool) -> str:
    """Return a word, underlined by its surprisal, and its panel; or the gap and its words."""
    surprise = 0 if is_gap else min(100, round(-place.asked[0].log_p * 8))
    shown = GAP if is_gap else _shown(place.asked[0])
    return (
        f'<input type="radio" name="{group}" id="{id}"{" checked" if is_open else ""}>'
        f'<label for="{id}" style="--surprise:{surprise}%">{shown}</label>'
        f'<div class="why">{"".join(map(_terms, place.asked))}{_likeliest(place)}</div>'
    )


def _terms(choice: Choice) -> str:
    """Return log p as a sum, with a bar for each feature."""
    terms = [(label(choice, term), term.nats) for term in choice.terms]
    if len(terms) > TERMS:
        rest = sum(nats for _, nats in terms[TERMS:])
        terms = [*terms[:TERMS], (f"{len(terms) - TERMS} more features", rest)]
    numbers = [0, *(nats for _, nats in terms)]
    low, high = min(numbers), max(numbers)
    rows = [_row("background", f"{choice.background:+.2f}")]
    rows += [_row(name, f"{nats:+.2f}", _bar(nats, low, high)) for name, nats in terms]
    rows += [_row("−log Z", f"{-choice.log_z:+.2f}")]
    rows += [_row(SPELLED, f"{choice.spelling:+.2f}")] if choice.spelling else []
    total = f'<tr class="total"><th>log p</th><td>{choice.log_p:+.2f}</td><td></td></tr>'
    title = f"<h3>{_shown(choice)} <small>{_percent(choice)}</small></h3>"
    return f"<div>{title}<table>{''.join(rows)}{total}</table></div>"


def _likeliest(place: Place) -> str:
    """Return the likeliest words and, where words have vectors, those of the sought meaning."""
    high = max(choice.probability for choice in place.likeliest)
    rows = [
        _row(
            SHOWN.get(choice.word, choice.word), _percent(choice), _bar(choice.probability, 0, high)
        )
        for choice in place.likeliest
    ]
    sought = f"<p>meaning asked for: {escape(', '.join(place.sought))}</p>" if place.sought else ""
    return f"<div><h3>likeliest here</h3><table>{''.join(rows)}</table>{sought}</div>"


def _row(name: str, number: str, bar: str = "") -> str:
    return f'<tr><th>{escape(name)}</th><td>{number}</td><td class="bar">{bar}</td></tr>'


def _bar(value: float, low: float, high: float) -> str:
    """Return a bar from zero, in a row that reaches from low ≤ 0 to high ≥ 0."""
    reach = high - low or 1
    start, length = (min(value, 0) - low) / reach, abs(value) / reach
    sign = ' class="minus"' if value < 0 else ""
    return f'<i{sign} style="--from:{start:.1%};--long:{length:.1%}"></i>'


def _shown(choice: Choice) -> str:
    return escape(SHOWN.get(choice.word, choice.word))


def _percent(choice: Choice) -> str:
    percent = 100 * choice.probability
    return f"{percent:.2f}%" if percent >= 0.01 else f"{percent:.1g}%"
