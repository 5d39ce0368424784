"""The endings that tell are enough: any string has the class that the whole guesser gives it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from accord import lexicon
from accord.pipeline.base.names import UNKNOWN
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.model.endings import Endings, UnknownClasses, encode_endings

GUESSER = lexicon.load(["closed", "tiny", "guesser"], folder=folder_of).guesser
ENDS = ("a", "e", "es", "s", "ment", "tion", "eur", "euse", "er", "é", "ées", "ait", "ons", "ux")
LOOKS = ("zyb", "Zyb", "ZYB", "zyb4")
ROWS = GUESSER.lookup([f"{look}{end}" for look in LOOKS for end in ENDS])
MEANT = zip(ROWS["upos"], ROWS["feats"], strict=True)
NAMES = [UNKNOWN, *sorted({f"{UNKNOWN} {u} {f}".strip() for u, f in MEANT})]


def told_apart(tmp_path_factory) -> UnknownClasses:
    path = tmp_path_factory.mktemp("endings") / "endings.npz"
    np.savez_compressed(path, **encode_endings(GUESSER, NAMES))
    return UnknownClasses(NAMES, Endings(path, NAMES))


def test_any_string(tmp_path_factory):
    assert len(NAMES) > 10
    small, whole = told_apart(tmp_path_factory), UnknownClasses(NAMES, GUESSER)
    assert len(small.chain.kinds) < len(list(GUESSER.suffixes)) / 2

    @given(start=st.text(max_size=5), end=st.sampled_from(ENDS) | st.text("abeimnorst", min_size=1))
    def same(start, end):
        forms = [start + end, (start + end).title(), (start + end).upper()]
        np.testing.assert_array_equal(small.ids(forms), whole.ids(forms))

    same()
