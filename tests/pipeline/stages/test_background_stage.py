"""b is the same for models of any φ, unless the lexicon is let into it."""

import numpy as np
import pytest

import accord
from accord.models.ngrams import discounted, groups_of

# The preset `default`, its models as they are, on the small text and lexicon of Accord's own.
SMALL = {
    "corpus.source": "tiny",
    "corpus.limit": "null",
    "analyse.lexicon": "[closed, tiny, guesser]",
    "corpus.test": 0.1,
}


@pytest.fixture(scope="module")
def masses(tmp_path_factory):
    """b of the models of `default`, and that of the RNN where signatures share."""
    runs = tmp_path_factory.mktemp("b")
    shared = {**SMALL, "rnn.background.share": "signatures"}
    found = {}
    for name, changes in (("default", SMALL), ("signatures", shared)):
        run = accord.run("default", set=changes, until="background", runs=runs, name=name)
        for model in ("rnn", "ll-rnn", "ll-rnn-lexicon-in-b"):
            folder = run.artefacts[model, "background"].folder
            found[name, model] = np.load(folder / "b.npy")
    return found


def test_the_rnn_and_the_ll_rnn_of_default_have_the_same_b(masses):
    np.testing.assert_array_equal(masses["default", "rnn"], masses["default", "ll-rnn"])


def test_the_row_with_the_lexicon_in_b_has_another_b(masses):
    with_lexicon, without = masses["default", "ll-rnn-lexicon-in-b"], masses["default", "ll-rnn"]
    assert with_lexicon.shape == without.shape
    assert not np.allclose(with_lexicon, without)
    assert with_lexicon.sum() == pytest.approx(without.sum()) == pytest.approx(1)


def test_words_of_one_feature_each_share_alike_either_way(masses):
    np.testing.assert_array_equal(masses["default", "rnn"], masses["signatures", "rnn"])


def test_words_seen_once_leave_their_mass_to_all_unseen_ones():
    counts, nothing = np.array([5.0, 2.0, 1.0, 1.0, 0.0, 0.0]), np.zeros(6, int)
    group = groups_of("words", counts, np.array([0, 0, 1, 2, 1, 2]), nothing)
    assert group.tolist() == [1, 2, 0, 0, 0, 0]
    mass = discounted(counts, group, np.ones(6))
    assert mass[:2] * counts.sum() == pytest.approx([5, 2])
    assert mass[4] == mass[5] > 0
