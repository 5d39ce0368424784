"""Classes by exchange: each word where the class bigrams tell most."""

import numpy as np
import pytest

from accord.models.data import Sentences
from accord.pipeline.data.word_vectors import exchange_clusters

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


def test_the_same_text_has_the_same_classes():
    first, again = (exchange_clusters(text(), UNSEEN + 1, 10) for _ in range(2))
    assert (first == again).all()
