"""Constraints as they may be typed: what obeys them is what they say, or an error quotes them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fuzz_cases import CASES, fuzz
from hypothesis import strategies as st

from accord.pipeline.ask.generate import LONGEST, Automata, parse

FORMS = ["</s>", "<unk>", "le", "la", "chat", "dort"]
KNOWN = {form: number for number, form in enumerate(FORMS) if number > 1}
WORDS = SimpleNamespace(forms=FORMS, known=KNOWN, unknown=FORMS[1:2])
ANALYSES = pd.DataFrame(
    {
        "word": [2, 3, 4, 5],
        "upos": ["DET", "DET", "NOUN", "VERB"],
        "feats": ["Gender=Masc|Number=Sing", "Gender=Fem|Number=Sing", "Gender=Masc", ""],
    }
).astype({"feats": "category"})
PIECES = st.sampled_from(
    [
        *("NOUN", "DET", "VERB", "noun", "Gender=Fem", "Gender=", "=", "words=le,la", "words="),
        *("words=</s>", "words=<unk>", "1:", "2 :", "*:", "0:", "-1:", "50:", "51:", "9" * 5000),
        *(f"{'9' * 5000}:", "٣:", "²:", "\n", "\0", "\t", ",", "|", "(", "[", "*", "\ud800", "é"),
    ]
)


@CASES
def test_what_is_typed(cases):
    def check(texts: list[str]) -> None:
        try:
            parsed = parse(texts, list)
            automata = Automata(WORDS, ANALYSES, list)
            built = automata.by_position(texts, 0).automaton
        except ValueError as error:
            assert len(str(error)) < 1000
            return
        for place, test in parsed:
            assert 0 <= place <= LONGEST
            allowed = automata.passing(test)
            for position in range(LONGEST) if not place else [place - 1]:
                state = min(position, len(built.follow) - 1)
                taken = built.follow[state][built.group] >= 0
                assert not (taken & ~allowed)[2:].any(), (test, place)

    texts = st.lists(PIECES, max_size=5).map(" ".join) | st.text(max_size=30)
    fuzz(cases, st.lists(texts, max_size=4), check)


def test_each_of_very_many_constraints_is_kept():
    """More than a word of the machine has bits."""
    texts = ["*: words=le,chat"] * 80 + ["*: words=chat"]
    built = Automata(WORDS, ANALYSES, list).by_position(texts, 0).automaton
    assert np.flatnonzero(built.follow[0][built.group] >= 0).tolist() == [4]


@pytest.mark.parametrize("text", ["51: NOUN", f"{10**12}: NOUN", f"{'9' * 5000}: NOUN"])
def test_a_place_that_no_sentence_reaches_is_refused_with_the_limit(text):
    with pytest.raises(ValueError, match="expected a place from 1 to 50"):
        parse([text], list)
