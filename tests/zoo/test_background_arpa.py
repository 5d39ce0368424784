"""n-grams from outside as b: exact masses, also of words that the file lacks, for any words."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_features

from accord.models.data import Sentences
from accord.zoo.ngrams import ArpaBackground, load, prepare

# As KenLM writes one: 1-grams with <unk>; a word that the vocabulary lacks; an n-gram with <unk>.
FILE = """
\\data\\
ngram 1=6
ngram 2=6

\\1-grams:
-99\t<s>\t-0.3
-0.6\t</s>
-0.9\t<unk>\t-0.1
-0.5\tle\t-0.2
-0.8\tla\t0.1
-1\téléphant\t-0.4

\\2-grams:
-0.3\t<s> le
-0.4\tle la
-0.7\tle <unk>
-0.2\t<unk> la
-0.5\téléphant la
-0.1\tla </s>

\\end\\
"""
FORMS = ["</s>", "<unk>", "la", "chat", "le", "de la"]  # of which the file has three
MASS = np.array([0.2, 0.1, 0.2, 0.3, 0.1, 0.1])
TEXT = Sentences(np.array([4, 3, 2, 0, 1, 2, 5, 0]), np.array([4, 4]))


def background(folder, text=FILE, seed=0) -> ArpaBackground:
    (folder / "b.arpa").write_text(text, encoding="utf-8")
    order = prepare(folder / "b.arpa", FORMS, MASS, folder)
    return load(random_features(len(FORMS), width=2, seed=seed, real=False), folder, order)


def test_words_have_what_the_file_says_and_those_it_lacks_share_that_of_unk(tmp_path):
    found = background(tmp_path)
    context = torch.from_numpy(found.contexts(TEXT))
    p = found.log_mass_of(None, context).exp()
    after_start, after_le, after_unknown = p[0], p[1], p[2]
    assert after_start[4] == pytest.approx(10**-0.3)
    assert after_start[2] == pytest.approx(10 ** (-0.3 - 0.8))
    assert after_le[2] == pytest.approx(10**-0.4)
    lacking = [1, 3, 5]
    assert after_le[lacking].sum() == pytest.approx(10**-0.7)
    assert after_le[lacking].numpy() / 10**-0.7 == pytest.approx(MASS[lacking] / 0.5)
    assert after_unknown[2] == pytest.approx(10**-0.2)  # `chat` is read as <unk>


@pytest.mark.parametrize("seed", range(3))
def test_class_mass_is_the_sum_over_the_words_of_a_signature(tmp_path, seed):
    found = background(tmp_path, seed=seed)
    context = torch.from_numpy(found.contexts(TEXT))
    signature = torch.from_numpy(
        random_features(len(FORMS), width=2, seed=seed, real=False).signature
    )
    masses = found.log_mass_of(None, context).double().exp()
    words = torch.arange(len(FORMS)).expand(len(context), -1)
    assert torch.allclose(found.log_mass_of(words, context).exp(), masses, atol=1e-6)
    sums = masses.new_zeros(len(context), int(signature.max()) + 1).index_add_(1, signature, masses)
    assert torch.allclose(found.class_terms(context)[0].double().exp(), sums, atol=1e-6)


@pytest.mark.parametrize("log10", [-6, -9, -12, -99])
def test_a_word_listed_far_below_what_backing_off_gives_it_keeps_its_mass(tmp_path, log10):
    found = background(tmp_path, FILE.replace("-0.4\tle la", f"{log10}\tle la"))
    context = torch.from_numpy(found.contexts(TEXT))[1:2]  # after `le`
    alone = {2} == {*np.flatnonzero(found.of_word == found.of_word[2])}
    mass = found.log_mass_of(None, context).double().logsumexp(dim=1)
    assert found.class_terms(context)[0].double().logsumexp(dim=1) == pytest.approx(mass, abs=1e-6)
    prior, evidence = found.class_terms(context, split=True)
    assert evidence.isfinite().all()
    assert prior + evidence == pytest.approx(found.class_terms(context)[0], abs=1e-4)
    if alone and log10 > -15:  # what is rarer than double precision can tell has next to nothing
        of_word = found.class_terms(context)[0][0, found.of_word[2]]
        assert float(of_word) == pytest.approx(log10 * np.log(10), abs=1e-3)
