"""Sorted forms, packed: each is found in its place, and nothing else is."""

from hypothesis import given
from hypothesis import strategies as st

from accord.pipeline.model.words import BLOCK, FrontCoded

FORMS = st.sets(st.text(min_size=1, max_size=6), max_size=3 * BLOCK).map(sorted)


@given(forms=FORMS, other=st.text(max_size=12))
def test_places_and_forms(forms, other):
    packed = FrontCoded(**FrontCoded.encode(forms).arrays)
    assert list(packed) == forms
    assert [packed[place] for place in range(len(forms))] == forms
    assert [packed.find(form) for form in forms] == list(range(len(forms)))
    assert packed.find(other) == (forms.index(other) if other in forms else -1)


@given(forms=FORMS, beginning=st.text(max_size=3))
def test_forms_that_begin_alike_lie_together(forms, beginning):
    packed = FrontCoded.encode(forms)
    for letters in (beginning, *(form[:1] for form in forms[:3])):
        first, end = packed.beginning_with(letters.encode())
        assert forms[first:end] == [form for form in forms if form.startswith(letters)]


def test_what_cannot_be_written_is_not_found():
    assert FrontCoded.encode(["?", "a", "b"]).find("\ud800") == -1
