"""How words are written, in the numbers that networks read."""

from accord.pipeline.data.word_vectors import LONGEST, spelled


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
