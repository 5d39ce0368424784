"""A spelling that learns more words is the one that learned all of them at once."""

import numpy as np

from accord.models.spelling.ngram import NGramSpelling

FIRST, MORE = ["chat", "chats", "pomme"], ["zygote", "zeste"]


def test_learning_more_words_is_learning_all_at_once():
    grown = NGramSpelling.learn(FIRST, [0, 1, 0], 2, 4).with_words(MORE, [1, 0])
    whole = NGramSpelling.learn([*FIRST, *MORE], [0, 1, 0, 1, 0], 2, 4)
    assert np.array_equal(grown.log_prob(["zyste", "chat"]), whole.log_prob(["zyste", "chat"]))
    fewer = NGramSpelling.learn(FIRST, [0, 1, 0], 2, 4)
    assert (grown.log_prob(["zyste"]) > fewer.log_prob(["zyste"])).all()
