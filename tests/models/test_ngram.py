"""n-gram models: proper distributions, equal to their definitions, whatever the context."""

import numpy as np
import pytest
import torch
from ngram_cases import WORDS, KneserNey, as_lists, random_sentences

from accord.models.background import kneser_ney, stacked
from accord.models.data import END, Sentences
from accord.models.ngrams import count
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
        ([1, 2, 0], 5, "order: expected at most 4, the longest sentence with its start; got 5"),
        ([1, 99, 0], 2, "sentences: expected word ids from 0 to under 9; got 99 at index 1"),
        ([1, 2, 3], 2, "sentences: expected END, 0, to close each; sentence 0 has 3"),
    ],
)
def test_bad_text_is_refused_by_place(ids, order, message):
    with pytest.raises(ValueError, match=message):
        count(Sentences(np.array(ids), np.array([len(ids)])), order, WORDS)
