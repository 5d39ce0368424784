"""The guesser's shares, counted form by form in a lexicon that is small enough for it."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from accord.lexicon.guesser import FEWEST, LONGEST, SMALLEST, learned_guesser

# A verb of many forms and nouns of few, some of which end alike; each form has one analysis or two.
ROWS = [
    *((form, "porter", "VERB", "") for form in ("porta", "porte", "portent", "porter", "portes")),
    ("porte", "porte", "NOUN", "Number=Sing"),
    ("portes", "porte", "NOUN", "Number=Plur"),
    *((form, form, "NOUN", "Number=Sing") for form in ("table", "sable", "étable", "lutte")),
    *((form, form[:-1], "NOUN", "Number=Plur") for form in ("tables", "sables")),
    *((form, form, "ADJ", "") for form in ("capable", "stable")),
    *((form, form, "ADV", "") for form in ("vite", "ensuite")),
]
ASKED = ["affable", "portable", "instable", "truites", "moto", "suite", "y", "porte"]


def by_definition(form: str) -> dict[str, float]:
    """P(a | s) = (c(s, a) + n(s)·P(a | s less its first letter)) / (c(s) + n(s))."""
    analyses = Counter(form for form, *_ in ROWS)
    family = Counter((lemma, upos) for _, lemma, upos, _ in ROWS)
    shares: dict[str, float] = {}
    for length in range(min(LONGEST, len(form)) + 1):
        ending = form[len(form) - length :]
        rows = [row for row in ROWS if row[0].endswith(ending)]
        forms = sum(1 / analyses[row[0]] for row in rows)
        if length and forms < FEWEST:
            break
        counts: Counter[str] = Counter()
        for row in rows:
            share = 1 / analyses[row[0]] / np.sqrt(family[row[1:3]])
            counts[f"{row[2]} {row[3]}"] += share
        scale = forms / counts.total()
        backed = len(counts) if length else 0
        shares = {
            tag: (scale * counts[tag] + backed * shares.get(tag, 0)) / (forms + backed)
            for tag in {*counts, *shares}
        }
    kept = {tag: share for tag, share in shares.items() if share >= SMALLEST}
    return {tag: share / sum(kept.values()) for tag, share in kept.items()}


@pytest.mark.parametrize("form", ASKED)
def test_a_guess_is_what_the_definition_says(form):
    table = pd.DataFrame(ROWS, columns=["form", "lemma", "upos", "feats"])
    found = learned_guesser(table, "").lookup([form])
    tags = found["upos"].astype(str) + " " + found["feats"].astype(str)
    assert dict(zip(tags, found["weight"], strict=True)) == pytest.approx(
        by_definition(form), abs=1e-6
    )
