"""ARPA files: what is written is read again, KenLM reads the same, and bad files are named."""

from pathlib import Path

import numpy as np
import pytest
import torch
from ngram_cases import WORDS, random_sentences

from accord.models.background import kneser_ney
from accord.models.data import Sentences
from accord.models.ngrams import count
from accord.models.parts import SMOOTHINGS
from accord.zoo.ngrams import read_arpa, write_arpa

FORMS = ["</s>", "le", "la", "l’", "été", "à\u00a0côté", "|", "<unk>", "\\x"]
UNIFORM = np.full(WORDS, 1 / WORDS)

GOOD = """
\\data\\
ngram 1=4
ngram 2=3

\\1-grams:
-99\t<s>\t-0.3
-0.5\t</s>
-0.5\tle\t-0.2
-0.8\tla\t0.1

\\2-grams:
-0.3\t<s> le
-0.4\tle la
-0.1\tla </s>

\\end\\
""".lstrip("\n")
WORDS_OF_GOOD = ["</s>", "le", "la"]


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize(("order", "name"), [(1, "m.arpa"), (3, "m.arpa"), (4, "m.arpa.gz")])
def test_what_is_written_is_read_again(smoothing, order, name, tmp_path):
    model = SMOOTHINGS[smoothing](count(random_sentences(), order, WORDS), UNIFORM)
    write_arpa(model, FORMS, tmp_path / name)
    again = read_arpa(tmp_path / name, FORMS)
    contexts = torch.randint(0, WORDS, (200, order - 1), generator=torch.Generator().manual_seed(0))
    p, q = (each.distributions(each.nodes(contexts), torch.float64) for each in (model, again))
    assert torch.allclose(p, q, rtol=2e-7)


@pytest.fixture(scope="module")
def counted(fetched):
    """The forms of a real text, the counts of its first sentences, and the others to be scored."""
    train, test = (conllu_words(fetched("ud-french-1.4"), split) for split in ("train", "test"))
    forms = ["</s>", *sorted({word for sentence in [*train[:4000], *test] for word in sentence})]
    ids = {form: number for number, form in enumerate(forms)}
    return forms, count(encoded(train[:4000], ids), 5, len(forms)), test, encoded(test, ids)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_kenlm_gives_every_word_of_a_real_text_the_same(smoothing, counted, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    forms, counts, test, ids = counted
    model = SMOOTHINGS[smoothing](counts, np.full(len(forms), 1 / len(forms)))
    write_arpa(model, forms, tmp_path / "m.arpa")
    judge = kenlm.LanguageModel(str(tmp_path / "m.arpa"))
    theirs = [
        log_p
        for sentence in test
        for log_p, _, _ in judge.full_scores(" ".join(sentence), bos=True, eos=True)
    ]
    ours = model.score(ids) / np.log(10)
    assert len(ours) > 5000
    assert ours == pytest.approx(np.array(theirs), abs=1e-4)


def conllu_words(folder: Path, split: str) -> list[list[str]]:
    path = next(folder.rglob(f"*{split}.conllu"))
    sentences = path.read_text(encoding="utf-8").strip().split("\n\n")
    rows = [[line.split("\t") for line in one.split("\n") if line[0] != "#"] for one in sentences]
    return [[row[1].replace(" ", "_") for row in one if row[0].isdigit()] for one in rows]


def encoded(sentences: list[list[str]], ids: dict[str, int]) -> Sentences:
    numbers = [ids[word] for sentence in sentences for word in [*sentence, "</s>"]]
    return Sentences(np.array(numbers), np.array([len(sentence) + 1 for sentence in sentences]))


def test_a_file_written_elsewhere_backs_off_as_it_says(tmp_path):
    (tmp_path / "m.arpa").write_text(GOOD, encoding="utf-8")
    model = read_arpa(tmp_path / "m.arpa", WORDS_OF_GOOD)
    log_p = model.distributions(model.nodes(torch.tensor([[0], [1], [2]])), torch.float64).log10()
    expected = [[-0.8, -0.3, -1.1], [-0.7, -0.7, -0.4], [-0.1, -0.4, -0.7]]
    assert np.allclose(log_p, expected, atol=1e-12)


def test_a_pruned_file_keeps_the_weights_of_contexts_without_ngrams(tmp_path):
    text = GOOD.replace("ngram 2=3", "ngram 2=1\nngram 3=1").replace("-0.3\t<s> le\n", "")
    text = text.replace("-0.1\tla </s>\n", "\n\\3-grams:\n-0.6\tla le la\n")
    (tmp_path / "m.arpa").write_text(text, encoding="utf-8")
    model = read_arpa(tmp_path / "m.arpa", WORDS_OF_GOOD)
    log_p = model.distributions(model.nodes(torch.tensor([[2, 1], [1, 0]])), torch.float64).log10()
    assert np.allclose(log_p, [[-0.7, -0.7, -0.6], [-0.8, -0.8, -1.1]], atol=1e-12)


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        ("ngram 2=3", "ngram 2=4", "line 16: expected 4 2-grams as the head says, found fewer"),
        ("ngram 2=3", "ngram 3=3", "line 3: expected 'ngram 2=' and a number, found 'ngram 3=3'"),
        (
            "-0.4\tle la",
            "nan\tle la",
            "line 13: expected a log-probability of at most 0, found nan",
        ),
        ("-0.4\tle la", "x\tle la", "line 13: expected numbers before and after the words"),
        ("-0.4\tle la", "-0.4\tle chat", "line 13: expected words of the vocabulary, found 'chat'"),
        (
            "-0.4\tle la",
            "-0.4\t<s> le",
            "line 13: expected each n-gram once, found that of line 12",
        ),
        ("-0.2", "inf", "line 8: expected a backoff weight from -300 to 300, found inf"),
        ("\\end\\", "", r"line 17: expected \\end\\, found the end of the file"),
    ],
)
def test_a_bad_file_is_refused_by_line(found, instead, message, tmp_path):
    assert found in GOOD
    path = tmp_path / "bad.arpa"
    path.write_text(GOOD.replace(found, instead, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=message) as refusal:
        read_arpa(path, WORDS_OF_GOOD)
    assert str(path) in str(refusal.value)


@pytest.mark.parametrize(
    ("forms", "message"),
    [
        (["</s>", "a", "b c"], "forms: expected words without blanks.* got 'b c' for word 2"),
        (["</s>", "a", "a"], "forms: expected 3 different words, got 2 among 3"),
    ],
)
def test_words_that_the_format_cannot_hold_are_refused(forms, message, tmp_path):
    text = random_sentences(words=3)
    model = kneser_ney(count(text, 2, 3), np.full(3, 1 / 3))
    with pytest.raises(ValueError, match=message):
        write_arpa(model, forms, tmp_path / "m.arpa")
