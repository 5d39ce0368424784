"""n-grams with given probabilities, and fewer of them: every context sums to one."""

import numpy as np
import pytest
import torch
from ngram_cases import WORDS, random_sentences

from accord.models.background import NGrams, kneser_ney
from accord.models.ngrams import count
from accord.zoo.ngrams import Chosen, _lost, backed_off, pruned, read_arpa, write_arpa

TEXT = random_sentences(count=200)
MODEL = kneser_ney(count(TEXT, 4, WORDS), np.full(WORDS, 1 / WORDS))
FORMS = ["</s>", *(f"w{number}" for number in range(1, WORDS))]


def distributions(model: NGrams) -> torch.Tensor:
    contexts = np.random.default_rng(1).integers(0, WORDS, size=(300, 3))
    return model.distributions(model.nodes(torch.from_numpy(contexts)), torch.float64)


def listed(model: NGrams) -> list[Chosen]:
    found = []
    for table, contexts in zip(model.tables, model.numpy().context_words(), strict=True):
        node, word = table.keys // WORDS, table.keys % WORDS
        ids = np.column_stack([contexts[node], word.numpy()])
        found.append(Chosen(ids, table.p.numpy()))
    return found


def perplexity(model: NGrams) -> float:
    return float(np.exp(-model.score(TEXT).mean()))


def test_a_model_is_known_by_the_probabilities_that_it_lists():
    again = backed_off(listed(MODEL), WORDS)
    assert torch.allclose(distributions(again), distributions(MODEL), atol=1e-9)


def test_any_probabilities_make_a_model_that_sums_to_one():
    generator = np.random.default_rng(0)
    chosen = []
    for ids, _ in listed(MODEL):
        kept = slice(None) if ids.shape[1] == 1 else generator.random(len(ids)) < 0.6
        chosen.append(Chosen(ids[kept], generator.random(len(ids[kept])) / 4))
    p = distributions(backed_off(chosen, WORDS))
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p)).double(), atol=1e-9)
    assert (p > 0).all()


@pytest.mark.parametrize("threshold", [0, 1e-5, 1e-3, 0.5])
def test_a_pruned_model_sums_to_one_and_is_read_again(threshold, tmp_path):
    fewer = pruned(MODEL, threshold)
    p = distributions(fewer)
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p)).double(), atol=1e-9)
    write_arpa(fewer, FORMS, tmp_path / "m.arpa")
    again = read_arpa(tmp_path / "m.arpa", FORMS)
    assert torch.allclose(distributions(again), p, rtol=1e-6)


def test_the_more_is_pruned_the_worse_and_little_costs_little():
    sizes, perplexities = [], []
    for threshold in (0, 1e-5, 1e-3, 1e-2):
        fewer = pruned(MODEL, threshold)
        sizes.append(sum(len(table.keys) for table in fewer.tables))
        perplexities.append(perplexity(fewer))
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < sizes[0] / 2
    assert perplexities[0] == pytest.approx(perplexity(MODEL), rel=1e-6)
    assert perplexities == sorted(perplexities)
    assert perplexities[1] < 1.03 * perplexities[0]


def test_one_that_goes_costs_what_was_said():
    """D is the relative entropy of the two models, summed over all contexts."""
    bigram = kneser_ney(count(TEXT, 2, WORDS), np.full(WORDS, 1 / WORDS))
    chosen = listed(bigram)
    contexts = torch.arange(WORDS).unsqueeze(1)
    p = bigram.distributions(bigram.nodes(contexts), torch.float64)
    lost = _lost(bigram, 1)
    for gone in range(0, len(lost), 7):
        kept = np.arange(len(lost)) != gone
        without = backed_off([chosen[0], Chosen(chosen[1].ids[kept], chosen[1].p[kept])], WORDS)
        q = without.distributions(without.nodes(contexts), torch.float64)
        of_context = bigram.p_0[contexts[:, 0]]
        expected = (of_context * (p * (p / q).log()).sum(dim=1)).sum()
        assert lost[gone] == pytest.approx(float(expected), rel=1e-6, abs=1e-12)
