"""A chain that was saved answers as before, in a folder of its own."""

import pytest

import lexicon
from lexicon.saved import open_saved, save

WORDS = ["petite", "Les", "1999", "blouguettes", "zyglotronnaient", "Zorglub", "du"]


@pytest.mark.parametrize(
    "names", [["tiny"], ["closed", "tiny"], ["closed", "tiny", "guesser"], ["tiny", "guesser"]]
)
@pytest.mark.parametrize("lowercase", [False, True])
def test_it_answers_as_before_also_for_what_it_has_to_guess(tmp_path, names, lowercase):
    chain = lexicon.load(names, folder=None, lowercase=lowercase)
    save(chain, tmp_path)
    opened = open_saved(tmp_path)
    assert opened.name == chain.name
    assert opened.licence == chain.licence
    assert all(opened.analyses(word) == chain.analyses(word) for word in WORDS)
    assert opened.lookup(WORDS).equals(chain.lookup(WORDS))
