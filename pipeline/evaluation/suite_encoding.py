"""Agreement suites from text to ids, and whether ids are those of a text."""

from collections.abc import Sequence

import numpy as np

from accord.pipeline.evaluation.pair import Pair, text_of, words_of
from accord.pipeline.prepared.special_words import END_ID
from accord.pipeline.prepared.suite_ids import Suite
from accord.pipeline.prepared.vocabulary import Vocabulary


def encode_suite(pairs: Sequence[Pair], vocabulary: Vocabulary) -> Suite:
    """The pairs in the ids of a vocabulary."""
    known = [
        vocabulary.is_open or vocabulary.knows(words_of(f"{pair.good} {pair.bad}"))
        for pair in pairs
    ]
    judged = [pair for pair, is_known in zip(pairs, known, strict=True) if is_known]
    texts = list(dict.fromkeys(text for pair in judged for text in (pair.good, pair.bad)))
    words = [words_of(text) for text in texts]
    place = {text: number for number, text in enumerate(texts)}
    forms = list(dict.fromkeys(word for ws in words for word in ws))
    number = {form: place for place, form in enumerate(forms)}
    form = np.array([i for ws in words for i in (*(number[w] for w in ws), -1)], np.int32)
    names = sorted({pair.construction for pair in pairs})
    return Suite(
        ids=np.array([*vocabulary.ids(forms), END_ID], np.int32)[form],  # −1 is the last
        lengths=np.array([len(sentence) + 1 for sentence in words], np.int64),
        # A pair that cannot be judged points at any sentence.
        good=np.array([place.get(pair.good, 0) for pair in pairs], np.int64),
        bad=np.array([place.get(pair.bad, 0) for pair in pairs], np.int64),
        critical=np.array([_first_difference(pair) for pair in pairs], np.int64),
        known=np.array(known, bool),
        construction=np.array([names.index(pair.construction) for pair in pairs], np.int64),
        constructions=np.array(names, str),
        forms=np.array(forms, str),
        form=form,
    )


def is_made_of(suite: Suite, pairs: Sequence[Pair]) -> bool:
    """Whether a suite in ids is that of these pairs, whatever case they were read in.

    Of a pair that could not be judged only the construction is kept.
    """
    words = np.split(suite.forms[suite.form], np.cumsum(suite.lengths)[:-1])
    texts = [text_of(sentence[:-1]).lower() for sentence in words]
    names = suite.constructions[suite.construction]
    kept = zip(names, suite.good, suite.bad, suite.known, strict=True)
    return len(pairs) == len(names) and all(
        pair.construction == name
        and (not known or [pair.good.lower(), pair.bad.lower()] == [texts[good], texts[bad]])
        for pair, (name, good, bad, known) in zip(pairs, kept, strict=True)
    )


def _first_difference(pair: Pair) -> int:
    """Where the first word stands that differs; the end of the shorter sentence is one too."""
    good, bad = pair.good.split(" "), pair.bad.split(" ")
    differing = (place for place, (a, b) in enumerate(zip(good, bad, strict=False)) if a != b)
    return next(differing, min(len(good), len(bad)))
