"""Classes of words by exchange and for the output, and their letters in numbers."""

import numpy as np
import pytest

from accord.models.data import Sentences
from accord.pipeline.data.word_vectors import LONGEST, exchange_clusters, spelled, word_classes

END, UNSEEN = 0, 41


def text(seed: int = 0) -> Sentences:
    """Sentences of three kinds of words that follow each other in turn, and now and then at will.

    Words 1 to 12, 13 to 24 and 25 to 40; END is 0, and word 41 does not occur.
    """
    generator = np.random.default_rng(seed)
    kinds = [np.arange(1, 13), np.arange(13, 25), np.arange(25, 41)]
    sentences = []
    for _ in range(400):
        length = generator.integers(3, 12)
        sentence = [generator.choice(kinds[place % 3]) for place in range(length)]
        if generator.random() < 0.1:
            sentence.insert(int(generator.integers(length)), sentence[0])
        sentences.append([*sentence, END])
    return Sentences(np.concatenate(sentences), np.array([len(each) for each in sentences]))


def mutual_information(sentences: Sentences, of_word: np.ndarray) -> float:
    """What the class of a word tells of the class of the next, in nats."""
    after = of_word[sentences.ids]
    before = np.roll(after, 1)  # END, the last of the text, stands before its first word
    joint = np.zeros((after.max() + 1,) * 2)
    np.add.at(joint, (before, after), 1 / len(after))
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    met = joint > 0
    return float((joint[met] * np.log(joint[met] / independent[met])).sum())


def test_words_that_behave_alike_share_a_class():
    classes = exchange_clusters(text(), UNSEEN + 1, 4)
    assert len(set(classes[1:13])) == len(set(classes[13:25])) == len(set(classes[25:41])) == 1
    assert len(set(classes[[END, 1, 13, 25]])) == 4
    assert classes[UNSEEN] == 4


@pytest.mark.parametrize("seed", range(3))
def test_no_word_alone_could_move_to_a_better_class(seed):
    sentences = text(seed)
    classes = exchange_clusters(sentences, UNSEEN + 1, 7)
    best = mutual_information(sentences, classes)
    for word in range(UNSEEN):
        for other in range(7):
            moved = classes.copy()
            moved[word] = other
            assert mutual_information(sentences, moved) <= best + 1e-9


def test_every_word_its_own_class_says_all_there_is_to_say():
    sentences = text()
    own = exchange_clusters(sentences, UNSEEN + 1, UNSEEN)
    assert sorted(own[:UNSEEN]) == list(range(UNSEEN))
    most = mutual_information(sentences, np.arange(UNSEEN + 1))
    assert mutual_information(sentences, own) == pytest.approx(most)
    assert 0 < mutual_information(sentences, exchange_clusters(sentences, UNSEEN + 1, 3)) < most


COUNTS = np.array([300, 200, 120, 60, 40, 20, 10, 5, 3, 2, 1, 1, 1, 0, 0])  # of words 0 to 14


def counted_text() -> Sentences:
    """The words of COUNTS in an order by chance, END (0) being the last of each sentence."""
    generator = np.random.default_rng(0)
    words = generator.permutation(np.repeat(np.arange(1, 15), COUNTS[1:]))
    ends = np.sort(generator.choice(np.arange(1, len(words)), 299, replace=False))
    ids = np.append(np.insert(words, ends, 0), 0)
    stops = np.flatnonzero(ids == 0)
    return Sentences(ids, np.diff(stops, prepend=-1))


@pytest.mark.parametrize("by", ["neighbours", "frequency", "evenly"])
def test_every_word_has_a_class_and_rare_ones_share_it_with_unseen_ones(by):
    classes = word_classes(counted_text(), COUNTS, 4, by)
    assert len(classes) == len(COUNTS)
    assert sorted(set(classes)) == list(range(4))
    assert len(set(classes[10:])) == 1


def test_by_frequency_the_frequent_words_are_apart():
    classes = word_classes(counted_text(), COUNTS, 4, "frequency")
    sizes = np.bincount(classes[:10])
    assert (np.diff(classes[:10]) >= 0).all()
    assert sizes[0] < sizes[-1]


def test_words_are_told_apart_by_their_letters_and_special_words_by_themselves():
    table = spelled(["</s>", "<unk>", "été", "te", "<unk> NOUN"])
    lengths = (table > 0).sum(axis=1)
    assert lengths.tolist() == [1, 1, 5, 4, 1]  # a begin and an end beside the letters
    assert len({tuple(row) for row in table.tolist()}) == 5
    assert table[2, 0] == table[3, 0] and table[2, 4] == table[3, 3]  # the begin and the end
    assert table[2, 1] == table[2, 3] and table[2, 2] == table[3, 1]  # é, and t
    assert table[3, 2] not in table[2]  # e is not é


def test_of_a_very_long_word_the_ending_is_kept():
    long = "x" * 100 + "ment"
    table = spelled([long, "ment"])
    assert table.shape[1] == LONGEST + 2
    assert (table[0, -5:] == table[1, 1:6]).all()
