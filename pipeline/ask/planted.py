"""Planted errors: how well a checker does on them, and the costs with which it does best.

Each pair of a suite is two texts: in the wrong one errors are to be repaired, in the right one
nothing is. A change is right if it is one of those that turn the wrong text into the right one.

    precision = right changes / all changes made,    recall = right changes / errors
    F0.5 = 1.25·P·R / (0.25·P + R)

F0.5 weighs precision more: a false alarm costs a writer more than an error that stays.
"""

from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.pipeline.ask.correct import (
    KINDS,
    SELDOM,
    Candidates,
    Corrector,
    Prior,
    Search,
    changed,
)
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.messages import track
from accord.pipeline.model.suites import Pair, text_of, words_of

AGREEMENT, HOMOPHONE, PARTICIPLE = "agreement", "homophone", "participle"
SEVERAL = {2: "two_errors", 3: "three_errors"}
HEARD = 0.15  # how often people write a form that sounds otherwise, for each that does not
LENGTHS = range(5, 41)  # words of a sentence
PAST = ("VerbForm=Part", "Tense=Past")
INVARIABLE = {"ADP", "ADV", "CCONJ", "SCONJ", "INTJ"}


def plant(
    sentences: Iterable[Sequence[str]],
    candidates: Candidates,
    errors: int = 1,
    seed: int = 1,
    limit: int | None = None,
) -> pd.DataFrame:
    """Return a suite: construction, good, bad; sentences with too few candidates are left out.

    The sentences get one to `errors` errors in turn. An error is of one of three kinds, each as
    likely: a form that agrees otherwise, a homophone of another lemma, another form of a past
    participle. Words with a capital may be names, and stay.
    """
    random = np.random.default_rng(seed)
    rows: list[tuple[str, str, str]] = []
    for words in sentences:
        if len(words) in LENGTHS:
            wanted = 1 + len(rows) % errors
            planted = _planted(words, candidates, wanted, random)
            if planted:
                bad, kinds = planted
                rows.append((SEVERAL.get(wanted, kinds[0]), text_of(words), text_of(bad)))
        if len(rows) == limit:
            break
    if not rows:
        raise AccordError("expected sentences with words that can be taken for others, found none")
    return pd.DataFrame(rows, columns=["construction", "good", "bad"])


def _planted(
    words: Sequence[str], candidates: Candidates, errors: int, random: np.random.Generator
) -> tuple[list[str], list[str]] | None:
    """Return a sentence with so many errors, and their kinds; None if it offers fewer."""
    offered: dict[str, dict[int, dict[str, float]]] = {}
    for position, word in enumerate(words):
        if word == word.lower():
            for kind, others in _mistakes(word, candidates).items():
                offered.setdefault(kind, {})[position] = others
    bad, kinds = list(words), []
    for _ in range(errors):
        if not offered:
            return None
        kinds.append(str(random.choice(sorted(offered))))
        position = int(random.choice(sorted(offered[kinds[-1]])))
        others = offered[kinds[-1]][position]
        weights = np.array([*others.values()])
        bad[position] = str(random.choice([*others], p=weights / weights.sum()))
        for of_kind in offered.values():
            of_kind.pop(position, None)
        offered = {kind: places for kind, places in offered.items() if places}
    return bad, kinds


def _mistakes(word: str, candidates: Candidates) -> dict[str, dict[str, float]]:
    """Return the words that may be written for a word by kinds of error, and their frequency.

    A homophone of another lemma is frequent, as both of those that people confuse are. A word that
    may be invariable (*entre*) is not inflected, and no form is planted that hardly occurs.
    """
    is_participle = candidates.has(word, *PAST)
    is_inflected = not candidates.uposes(word) & INVARIABLE
    mistakes: dict[str, dict[str, float]] = {}
    for other, kinds in candidates.instead_of(word).items():
        count = candidates.homophones.count(other)
        weight = HEARD if "audible" in kinds else 1.0
        if "other word" in kinds:
            mistakes.setdefault(HOMOPHONE, {})[other] = count
        elif is_inflected and count >= SELDOM and not {"rare word", "pronoun"} & {*kinds}:
            if is_participle:
                mistakes.setdefault(PARTICIPLE, {})[other] = weight
            elif "tense" not in kinds:
                mistakes.setdefault(AGREEMENT, {})[other] = weight
    return mistakes


BETA = 0.5
FREQUENCY = [*KINDS].index("frequency")
# Costs that are tried, in nats. A kind may cost less than other changes do.
GRID = {kind: np.arange(-3.0, 8.25, 0.25) for kind in KINDS} | {
    "change": np.arange(1.0, 8.25, 0.25),
    "frequency": np.arange(0.0, 1.05, 0.1),
}
STARTS = (2.0, 4.0, 6.0)  # of the cost of every change: one alone may end in a local optimum
ALARMS = "false alarms per 1,000"  # right texts that are changed
LOOSE = 0.3  # share of the costs in the search whose results are tuned on
WIDE = 24  # hypotheses that it keeps
RIGHT = "no error"  # the construction of right texts

Edit = tuple[int, int, tuple[str, ...]]  # start, end and the new words of a change
Text = tuple[str, list[str], list[str]]  # construction, words as written, words as meant


def edits(words: Sequence[str], others: Sequence[str]) -> set[Edit]:
    """Return the edits from one sentence to another, word by word where as many are replaced."""
    differing: set[Edit] = set()
    for name, a, b, c, d in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        if name == "replace" and b - a == d - c:
            differing |= {(a + n, a + n + 1, (others[c + n],)) for n in range(b - a)}
        elif name != "equal":
            differing.add((a, b, tuple(others[c:d])))
    return differing


class Judged(NamedTuple):
    """One text after its correction."""

    construction: str
    errors: int
    made: int  # changes
    right: int  # of these

    @classmethod
    def of_text(cls, text: Text, result: Sequence[str]) -> "Judged":
        construction, words, meant = text
        errors, made = edits(words, meant), edits(words, result)
        return cls(construction, len(errors), len(made), len(errors & made))


def measure(pairs: Sequence[Pair], corrector: Corrector, prior: Prior) -> list[Judged]:
    """Correct both sentences of each pair."""
    judged, texts = [], texts_of(pairs)
    for text in track(texts, "sentences", len(texts)):
        changes = [kept.change for kept in corrector.meant(text[1], prior)]
        judged.append(Judged.of_text(text, changed(text[1], changes)))
    return judged


def texts_of(pairs: Iterable[Pair]) -> list[Text]:
    """Return the wrong texts, then the right ones."""
    wrong = [(pair.construction, words_of(pair.bad), words_of(pair.good)) for pair in pairs]
    return wrong + [(RIGHT, meant, meant) for _, _, meant in wrong]


def figures(judged: Sequence[Judged]) -> dict[str, float]:
    """Return precision, recall, F0.5, exact sentences and false alarms of some texts."""
    errors, made, right = (sum(getattr(e, n) for e in judged) for n in ("errors", "made", "right"))
    correct = [text for text in judged if not text.errors]
    alarms = sum(text.made > 0 for text in correct)
    return {
        "texts": len(judged),
        "errors": errors,
        "precision": right / made if made else float("nan"),
        "recall": right / errors if errors else float("nan"),
        "F0.5": f_score(errors, made, right) if errors else float("nan"),
        "exact": sum(text.errors == text.made == text.right for text in judged) / len(judged),
        ALARMS: 1000 * alarms / len(correct) if correct else float("nan"),
    }


def f_score(errors: float, made: float, right: float) -> float:
    """Return F0.5, which is 1 where there is neither an error nor a change."""
    return float((1 + BETA**2) * right / (made + BETA**2 * errors)) if made + errors else 1.0


def table(judged: Sequence[Judged]) -> pd.DataFrame:
    """Return a row for each construction, one for right texts, and one for all, as text."""
    names = sorted({text.construction for text in judged}, key=lambda name: (name == RIGHT, name))
    rows = {name: figures([e for e in judged if e.construction == name]) for name in names}
    rows["all"] = figures(judged)
    whole = pd.DataFrame.from_dict(rows, orient="index")
    shares = ("precision", "recall", "F0.5", "exact")
    shown = {name: whole[name].map("{:.1%}".format) for name in shares}
    shown[ALARMS] = whole[ALARMS].map("{:.0f}".format)
    whole = whole.astype({"texts": int, "errors": int}).assign(**shown)
    return whole.replace("nan%", "").replace("nan", "").rename_axis("text").reset_index()


def tuned(pairs: Sequence[Pair], corrector: Corrector) -> Prior:
    """Return the costs with the greatest F0.5 on pairs, climbing by one cost at a time.

    One search with low costs finds sentences, which are ranked under others.
    """
    prior, texts, scorer = Prior(), texts_of(pairs), corrector.scorer
    loose = Prior({kind: LOOSE * cost for kind, cost in prior.costs.items()})
    results = []
    for _, words, _ in track(texts, "sentences to tune on", len(texts)):
        changes = corrector.candidates.at_each(words)
        results.append(Search(scorer, scorer.cased(words), changes, loose, WIDE).best())
    # A row for each text, a column for each of its sentences, padded with log p = −inf.
    shape = len(texts), max(map(len, results))
    log_p, kinds = np.full(shape, -np.inf), np.zeros((*shape, len(KINDS)))
    counts = np.zeros((*shape, 3))  # errors, changes, right changes
    for row, (text, sentences) in enumerate(zip(texts, results, strict=True)):
        for column, meant in enumerate(sentences):
            log_p[row, column] = meant.log_p
            _, *counts[row, column] = Judged.of_text(text, changed(text[1], meant.changes))
            for change in meant.changes:
                kinds[row, column] += [kind in change.kinds for kind in KINDS]
                kinds[row, column, FREQUENCY] += change.frequency

    def score(costs: np.ndarray) -> float:
        """Return F0.5 if the best of each list is taken, of equals the first."""
        chosen = (log_p - kinds @ costs).argmax(axis=1)
        return f_score(*counts[np.arange(len(chosen)), chosen].sum(axis=0))

    starts = [{**prior.costs, "change": cost} for cost in STARTS]
    best = max((_climbed(score, np.array([*costs.values()])) for costs in starts), key=score)
    return Prior({kind: round(cost, 2) for kind, cost in zip(KINDS, best.tolist(), strict=True)})


def _climbed(score: Callable[[np.ndarray], float], costs: np.ndarray) -> np.ndarray:
    """Return the costs that no other value of one of them betters."""
    best, last = score(costs), -1.0
    while best > last:
        last = best
        for number, kind in enumerate(KINDS):
            for cost in GRID[kind].tolist():
                tried = costs.copy()
                tried[number] = cost
                if (f := score(tried)) > best + 1e-9:
                    best, costs = f, tried
    return costs


def readable(pairs: Sequence[Pair], scorer: Scorer) -> list[Pair]:
    """Return the pairs whose words a model knows; with an open vocabulary, all."""

    def is_known(text: str) -> bool:
        return scorer.is_open or scorer.vocabulary.knows(scorer.cased(words_of(text)))

    known = [pair for pair in pairs if is_known(pair.good) and is_known(pair.bad)]
    if not known:
        raise AccordError("expected pairs of words that the model knows, found none")
    return known
