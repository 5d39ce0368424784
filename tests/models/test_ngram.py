"""n-gram models and the unigram prior: proper distributions, equal to their definitions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ngram_cases import WORDS, KneserNey, as_lists, random_sentences

from accord.models.background import kneser_ney, stacked
from accord.models.data import END, Sentences
from accord.models.ngrams import UNSEEN_SIGNATURE, count, discounted, unseen_signature
from accord.models.parts import SMOOTHINGS

UNIFORM = np.full(WORDS, 1 / WORDS)


def contexts_of(order: int, rows: int = 200) -> torch.Tensor:
    """Seen and unseen contexts, some at and around the start of a sentence."""
    generator = np.random.default_rng(order)
    return torch.from_numpy(generator.integers(0, WORDS, size=(rows, order - 1)))


def with_start(context: list[int]) -> tuple:
    """The words since the last sentence's start, as the definition takes them."""
    since = max((at for at, word in enumerate(context) if word == END), default=-1)
    return ("<s>", *context[since + 1 :]) if since >= 0 else tuple(context)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_kneser_ney_is_what_its_definition_says(order, seed):
    text = random_sentences(seed, count=400)
    model = kneser_ney(count(text, order, WORDS), UNIFORM)
    defined = KneserNey(text, order, WORDS)
    contexts = contexts_of(order, rows=60)
    p = model.distributions(model.nodes(contexts), torch.float64)
    for row, context in enumerate(contexts.tolist()):
        expected = [defined.p(word, with_start(context)) for word in range(WORDS)]
        assert p[row].tolist() == pytest.approx(expected, rel=1e-12)


def test_the_definitions_discounts_are_used_and_not_only_the_fallback():
    defined = KneserNey(random_sentences(0, count=400), 5, WORDS)
    assert sum(found != [0.5, 1, 1.5] for found in defined.discounts.values()) >= 2


@pytest.mark.parametrize("smoothing", SMOOTHINGS.parts())
@pytest.mark.parametrize("order", [1, 2, 4])
def test_every_distribution_sums_to_one_and_leaves_no_word_out(smoothing, order):
    base = np.random.default_rng(3).dirichlet(np.ones(WORDS))
    model = SMOOTHINGS[smoothing](count(random_sentences(), order, WORDS), base)
    p = model.distributions(model.nodes(contexts_of(order)), torch.float64)
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p), dtype=torch.float64), atol=1e-12)
    assert (p > 0).all()


@pytest.mark.parametrize("smoothing", SMOOTHINGS.parts())
def test_words_and_sentences_have_the_probabilities_of_the_distributions(smoothing):
    model = SMOOTHINGS[smoothing](count(random_sentences(), 3, WORDS), UNIFORM)
    contexts = contexts_of(3)
    p = model.distributions(model.nodes(contexts), torch.float64)
    for word in range(WORDS):
        of_word = model.p(model.nodes(contexts), torch.full((len(contexts),), word))
        assert torch.allclose(of_word, p[:, word], rtol=1e-12)
    text = random_sentences(seed=9, count=20, words=WORDS)
    expected = []
    for sentence in as_lists(text):
        padded = [END, END, *sentence]
        rows = torch.tensor([padded[at : at + 2] for at in range(len(sentence))])
        expected += model.distributions(model.nodes(rows), torch.float64).log()[
            range(len(rows)), sentence
        ]
    assert model.score(text) == pytest.approx(torch.stack(expected).numpy(), rel=1e-12)


def test_nothing_before_a_sentences_start_matters():
    model = kneser_ney(count(random_sentences(), 4, WORDS), UNIFORM)
    rows = torch.tensor([[END, END, 1], [5, END, 1], [2, END, 1], [-1, END, 1]])
    p = model.distributions(model.nodes(rows))
    assert torch.equal(p, p[:1].expand_as(p))
    assert not torch.equal(p[0], model.distributions(model.nodes(torch.tensor([[5, 2, 1]])))[0])


def test_models_in_one_set_of_tables_stay_themselves():
    models = [kneser_ney(count(random_sentences(seed), 3, WORDS), UNIFORM) for seed in range(3)]
    together, contexts = stacked([model.numpy() for model in models]), contexts_of(3)
    words = torch.arange(len(contexts)) % WORDS
    for root, model in enumerate(models):
        alone = model.p(model.nodes(contexts), words)
        nodes = together.nodes(contexts, torch.full((len(contexts),), root))
        assert torch.equal(together.p(nodes, words), alone)


@pytest.mark.parametrize(
    ("ids", "order", "message"),
    [
        ([1, 2, 0], 5, "order: expected at most 4, the longest sentence with its start, got 5"),
        ([1, 99, 0], 2, "sentences: expected word ids from 0 to under 9, got 99 at index 1"),
        ([1, 2, 3], 2, "sentences: expected END, 0, to close each, got 3 at index 0"),
    ],
)
def test_bad_text_is_refused_by_place(ids, order, message):
    with pytest.raises(ValueError, match=message):
        count(Sentences(np.array(ids), np.array([len(ids)])), order, WORDS)


COUNTED_WORDS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=60)


@given(COUNTED_WORDS)
def test_every_word_has_mass_and_a_seen_signature_keeps_its_own(words):
    counts = np.array([count for count, _ in words], dtype=float)
    _, signature = np.unique([number for _, number in words], return_inverse=True)
    share = np.random.default_rng(len(words)).uniform(0.01, 1, len(words))
    mass = discounted(counts, signature, share)
    assert (mass > 0).all()
    assert mass.sum() == pytest.approx(1)
    before = np.bincount(signature, counts)
    before[before == 0] = unseen_signature(counts, signature)
    assert np.bincount(signature, mass) == pytest.approx(before / before.sum())


def test_unseen_words_share_what_their_signature_frees():
    counts = np.array([1.0, 1.0, 2.0, 0.0, 0.0, 9.0])
    signature = np.array([0, 0, 0, 0, 0, 1])
    mass = discounted(counts, signature, np.array([1, 1, 1, 0.5, 1, 1]))
    discount = 2 / (2 + 2 * 1)
    assert mass * counts.sum() == pytest.approx(
        [1 - discount, 1 - discount, 2 - discount, discount, 2 * discount, 9]
    )


def test_words_of_no_share_have_mass_only_if_they_were_seen():
    counts = np.array([3.0, 1.0, 0.0, 0.0, 2.0, 0.0])
    signature = np.array([0, 0, 0, 1, 2, 2])
    share = np.array([1.0, 0, 0, 0, 1, 1])
    mass = discounted(counts, signature, share)
    assert (mass > 0).tolist() == [True, True, False, False, True, True]
    assert mass.sum() == pytest.approx(1)
    among_others = discounted(np.append(counts, 0), np.append(signature, 3), np.append(share, 0))
    assert among_others == pytest.approx([*mass, 0]), "words without a share change nothing"


def test_unseen_signatures_together_count_as_often_as_those_seen_once():
    signature = np.arange(112)
    counts = np.array([0.0] * 100 + [1.0] * 10 + [2.0, 5.0])
    assert unseen_signature(counts, signature) == pytest.approx(10 / 100)
    assert unseen_signature(counts[90:], signature[90:] - 90) == UNSEEN_SIGNATURE, "at most"
    assert unseen_signature(np.zeros(5), np.arange(5)) > 0
