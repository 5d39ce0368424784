"""Words in classes, in subwords, by their endings, and packed in a file."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord import lexicon
from accord.models.data import Sentences
from accord.models.spelling import count_subwords
from accord.pipeline.base.names import UNKNOWN
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.encoded import BOUNDARY, BYTES, Speller
from accord.pipeline.data.word_vectors import exchange_clusters, spelled, word_classes
from accord.pipeline.model.endings import Endings, UnknownClasses, encode_endings
from accord.pipeline.model.words import BLOCK, FrontCoded

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


def test_words_are_told_apart_by_their_letters_and_special_words_by_themselves():
    table = spelled(["</s>", "<unk>", "été", "te", "<unk> NOUN"])
    lengths = (table > 0).sum(axis=1)
    assert lengths.tolist() == [1, 1, 5, 4, 1]  # a begin and an end beside the letters
    assert len({tuple(row) for row in table.tolist()}) == 5
    assert table[2, 0] == table[3, 0] and table[2, 4] == table[3, 3]  # the begin and the end
    assert table[2, 1] == table[2, 3] and table[2, 2] == table[3, 1]  # é, and t
    assert table[3, 2] not in table[2]  # e is not é


WORD_COUNTS = {"la": 40, "petite": 30, "petites": 20, "pêche": 5, "10 000": 1}
FORMS = [*WORD_COUNTS, "çà", "ß", "€ha"]


def names(speller, subwords: np.ndarray) -> list[str]:
    """What subwords stand for, nothing for the end of a sentence."""
    return [speller.tokeniser.id_to_token(unit - 1) if unit else "" for unit in subwords.tolist()]


def in_subwords(speller, form: str) -> list[str]:
    subwords = speller.subwords([form])
    return names(speller, subwords.subwords[: subwords.starts[1]])


def in_bytes(letters: str) -> list[str]:
    return [BYTES[byte] for byte in letters.encode()]


def test_letters_seen_in_training_and_the_bytes_of_others_spell_every_word():
    speller = Speller.learn(WORD_COUNTS, merges=0)
    assert in_subwords(speller, "pêche") == [*"pêche", BOUNDARY]
    assert in_subwords(speller, "10 000") == [*"10 000", BOUNDARY]
    assert in_subwords(speller, "ß") == [*in_bytes("ß"), BOUNDARY]
    assert in_subwords(speller, "€ha") == [*in_bytes("€"), "h", "a", BOUNDARY]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_any_string_is_told_from_any_other_by_its_units(form):
    speller = Speller.learn(WORD_COUNTS, merges=12)
    *letters, last = "".join(in_subwords(speller, form))
    assert last == BOUNDARY and BOUNDARY not in letters
    raw = b"".join(bytes([BYTES.index(c)]) if c in BYTES else c.encode() for c in letters)
    assert raw.decode() == form


@pytest.mark.parametrize("merges", [0, 3, 12])
def test_there_are_as_many_units_as_letters_bytes_and_merges(merges, tmp_path):
    speller = Speller.learn(WORD_COUNTS, merges)
    for form in WORD_COUNTS:
        assert "".join(in_subwords(speller, form)) == form + BOUNDARY
    speller.save(tmp_path)
    assert count_subwords(tmp_path) == 1 + 1 + 256 + len({*"".join(WORD_COUNTS)}) + merges
    assert all(
        in_subwords(Speller.load(tmp_path), form) == in_subwords(speller, form) for form in FORMS
    )


def test_frequent_words_become_one_piece():
    assert in_subwords(Speller.learn(WORD_COUNTS, merges=12), "petite") == ["petite\n"]


def test_values_of_units_are_summed_by_word():
    speller = Speller.learn(WORD_COUNTS, merges=3)
    subwords = speller.subwords(FORMS)
    text = Sentences(np.array([0, 3, -1, 2, -1, 1, 7, -1]), np.array([3, 2, 3]))
    in_units = subwords.spell(text)
    assert "".join(names(speller, in_units.ids)) == "".join(
        "".join(in_subwords(speller, FORMS[place])) for place in text.ids if place >= 0
    )
    ends = np.cumsum(in_units.lengths) - 1
    assert (in_units.ids[ends] == 0).all() and (in_units.ids == 0).sum() == 3
    counted = subwords.count(text, 1 + len(speller.tokeniser.get_vocab()))
    assert counted.tolist() == np.bincount(in_units.ids, minlength=len(counted)).tolist()
    sizes = subwords.sum_by_word(text, np.ones(len(in_units.ids)))
    expected = [len(in_subwords(speller, FORMS[at])) if at >= 0 else 1 for at in text.ids]
    assert sizes.tolist() == expected


NEW = "zorgulle"  # which no table and no training text has
BEGINNINGS = [f"{first}{vowel}" for first, vowel in product("bcdfglmnprst", "aeiou")]


def write_table(path: Path, upos: str) -> None:
    """Words by whose endings others are guessed; those in -ulle are of the part of speech given."""
    endings = {"oque": "NOUN", "iment": "ADV", "ulle": upos}
    rows = [
        f"{beginning}{ending}\t_\t{of_ending}\t_"
        for ending, of_ending in endings.items()
        for beginning in BEGINNINGS
    ]
    path.write_text("\n".join(["form\tlemma\tupos\tfeats", *rows, ""]), encoding="utf-8")


@pytest.fixture
def table(tmp_path) -> Path:
    write_table(tmp_path / "mots.tsv", "NOUN")
    return tmp_path / "mots.tsv"


@pytest.fixture
def run(table):
    """What runs the stages on a text whose unknown words are of two classes."""
    text = table.parent / "text"
    text.mkdir()
    once = [f"x{start}{ending}" for start in BEGINNINGS for ending in ("oque", "iment")]
    (text / "train.txt").write_text("\n".join(once))
    (text / "test.txt").write_text(NEW)
    settings = {"corpus.source": text, "analyse.lexicon": [str(table), "guesser"]}

    def up_to(stage: str):
        changes = settings | {"train.epochs": 1}
        runs = table.parent / "runs"
        return accord.run("tiny", set=changes, models=["ll-rnn"], until=stage, runs=runs)

    return up_to


def read_as(made) -> str:
    """The unknown word as which the test's only word is encoded."""
    types = pd.read_parquet(made.artefacts["ll-rnn", "analyse"].folder / "types.parquet")
    ids = np.load(made.artefacts["ll-rnn", "encode"].folder / "test.ids.npy")
    return types["form"][ids[0]]


def test_ids_are_made_anew_when_a_lexicon_changes(table, run):
    assert read_as(run("encode")) == f"{UNKNOWN} NOUN"
    write_table(table, "ADV")
    assert read_as(run("encode")) == f"{UNKNOWN} ADV"


@pytest.mark.slow
def test_a_model_needs_no_lexicon_to_tell_words_apart(table, run):
    made = run("evaluate")
    before = accord.load(made.folder).score(NEW)
    write_table(table, "ADV")
    assert accord.load(made.folder).score(NEW) == before
    table.unlink()
    assert accord.load(made.folder).score(NEW) == before


SORTED_FORMS = st.sets(st.text(min_size=1, max_size=6), max_size=3 * BLOCK).map(sorted)


@given(forms=SORTED_FORMS, other=st.text(max_size=12))
def test_places_and_forms(forms, other):
    packed = FrontCoded(**FrontCoded.encode(forms).arrays)
    assert list(packed) == forms
    assert [packed[place] for place in range(len(forms))] == forms
    assert [packed.find(form) for form in forms] == list(range(len(forms)))
    assert packed.find(other) == (forms.index(other) if other in forms else -1)


@given(forms=SORTED_FORMS, beginning=st.text(max_size=3))
def test_forms_that_begin_alike_lie_together(forms, beginning):
    packed = FrontCoded.encode(forms)
    for letters in (beginning, *(form[:1] for form in forms[:3])):
        first, end = packed.beginning_with(letters.encode())
        assert forms[first:end] == [form for form in forms if form.startswith(letters)]


def test_what_cannot_be_written_is_not_found():
    assert FrontCoded.encode(["?", "a", "b"]).find("\ud800") == -1


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
