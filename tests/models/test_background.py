"""b(K, x): unigrams, n-grams, a frozen model: exact masses, in training never a sentence's own."""

import numpy as np
import pytest
import torch
from log_linear_cases import (
    by_definition,
    dense,
    random_features,
    random_layer,
    random_mass,
    random_states,
)
from ngram_cases import WORDS, random_sentences, rising_prior
from query_cases import distributions, scored

from accord.models.background import Background, NGramBackground, Unigram, kneser_ney
from accord.models.data import END, NO_WORD, Sentences, batches
from accord.models.inference.torch_model import FrozenModelBackground, TorchBackground
from accord.models.model import LanguageModel
from accord.models.ngrams import count
from accord.models.parts import SMOOTHINGS
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.train import Trainer


def test_class_mass_is_the_sum_over_the_words_of_a_signature():
    features, mass = random_features(), random_mass(60)
    sums = np.bincount(features.signature, mass) / mass.sum()
    assert np.allclose(Unigram(features, mass).class_terms()[0].exp(), sums, rtol=1e-12)


def test_the_smallest_mass_beside_the_largest_is_kept():
    features = random_features()
    mass = np.ones(60)
    mass[7], mass[8] = 5e-324, 1e308
    log_mass = Unigram(features, mass).log_mass_of(torch.tensor([7, 8]))
    assert log_mass.tolist() == pytest.approx([np.log(5e-324) - np.log(1e308), 0.0])


@pytest.mark.parametrize(
    ("mass", "message"),
    [
        ([1.0, np.nan, 1.0], "mass: expected finite numbers ≥ 0, got nan at index 1"),
        ([0.0, 0.0, 0.0], "mass: expected a positive sum, got 3 zeros"),
        ([1.0, 1.0], r"mass: expected 3 numbers, one per word, got shape \(2,\)"),
    ],
)
def test_a_bad_mass_is_refused_by_index(mass, message):
    with pytest.raises(ValueError, match=message):
        Unigram(random_features(words=3), mass)


FEATURES = random_features(WORDS, width=3, real=False)
TEXT = random_sentences(count=60)
OTHER = random_sentences(seed=5, count=20, words=WORDS)


def unigram(features: Features) -> Background:
    return Unigram(features, np.arange(WORDS))  # the first word has no mass


def ngrams(features: Features) -> Background:
    return NGramBackground.learn(features, [TEXT], 3, kneser_ney, rising_prior, folds=2)


def network(features: Features) -> Background:
    torch.manual_seed(3)
    recipe = Recipe(embedding=8, hidden=8, layers=1, device="cpu")
    return FrozenModelBackground(
        features, LanguageModel(recipe, features, unigram(features)).eval()
    )


MADE = {made.__name__: made for made in (unigram, ngrams, network)}


@pytest.fixture(scope="module", params=MADE)
def background(request) -> Background:
    return MADE[request.param](FEATURES)


@pytest.fixture
def context(background) -> torch.Tensor:
    return torch.from_numpy(background.contexts(OTHER, training=True))


def every_word(rows: int) -> torch.Tensor:
    return torch.arange(WORDS).expand(rows, -1)


def test_words_asked_together_have_the_masses_that_each_has_alone(background, context):
    together = background.log_mass_of(every_word(len(context)), context)
    for place in (0, 7, len(context) - 1):
        alone = [
            background.log_mass_of(torch.tensor([[word]]), context[[place]]).item()
            for word in range(WORDS)
        ]
        assert together[place].tolist() == pytest.approx(alone, abs=1e-6)
    of_all = background.log_mass_of(None, context).expand(len(context), -1)
    assert torch.allclose(of_all.double(), together.double(), atol=1e-5)


def test_the_mass_of_a_signature_is_the_sum_of_its_words(background, context):
    masses = background.log_mass_of(every_word(len(context)), context).exp().double()
    sums = torch.zeros(len(context), FEATURES.signature_count, dtype=torch.float64)
    sums.index_add_(1, torch.from_numpy(FEATURES.signature), masses)
    of_signatures = background.class_terms(context)[0].expand(len(context), -1).exp()
    assert torch.allclose(of_signatures.double(), sums, rtol=1e-5, atol=1e-9)


def test_the_two_terms_add_up_to_the_mass(background, context):
    prior, evidence = background.class_terms(context, split=True)
    whole = background.class_terms(context)[0]
    assert torch.allclose(prior + evidence, whole.to(prior.dtype), atol=1e-5)


RECIPE = Recipe(embedding=8, hidden=8, layers=1, batch=4, bptt=7, epochs=2, device="cpu")
INNER = {
    "unigram": lambda: Unigram(FEATURES, np.arange(1.0, WORDS + 1)),
    "n-grams": lambda: NGramBackground.learn(FEATURES, [TEXT], 3, kneser_ney, rising_prior, 2),
}


def below(inner: str) -> LanguageModel:
    torch.manual_seed(3)
    model = LanguageModel(RECIPE, FEATURES, INNER[inner]())
    for parameter in model.parameters():
        parameter.data += torch.randn_like(parameter)
    return model.eval()


@pytest.mark.parametrize("inner", INNER)
def test_a_network_without_weights_scores_as_the_model_below(inner):
    model = LanguageModel(RECIPE, FEATURES, FrozenModelBackground(FEATURES, below(inner)))
    for name, parameter in model.named_parameters():
        if "background" not in name:
            parameter.data.zero_()
    assert scored(model, OTHER) == pytest.approx(scored(below(inner), OTHER), abs=1e-5)
    log_p = distributions(model, OTHER).double()
    assert torch.allclose(log_p.logsumexp(dim=1), torch.zeros(len(log_p)).double(), atol=1e-5)


@pytest.mark.slow
def test_training_leaves_the_model_below_as_it_is(tmp_path):
    torch.manual_seed(1)
    model = LanguageModel(RECIPE, FEATURES, FrozenModelBackground(FEATURES, below("unigram")))
    trainer = Trainer(model, RECIPE, tmp_path)
    trainer.fit(TEXT, OTHER)
    assert trainer.curve[-1].train_nats < trainer.curve[0].train_nats
    for own, given in zip(
        model.output.background.model.parameters(), below("unigram").parameters(), strict=True
    ):
        assert torch.equal(own, given)


def learnt(order=3, smoothing=kneser_ney, folds=4) -> NGramBackground:
    return NGramBackground.learn(FEATURES, [TEXT], order, smoothing, rising_prior, folds)


def of_all_words(background: NGramBackground, context: torch.Tensor) -> torch.Tensor:
    """log b(K, x) of every word in each context, one by one: (N × V)."""
    columns = [
        background.log_mass_of(torch.full((len(context), 1), word), context)
        for word in range(WORDS)
    ]
    return torch.cat(columns, dim=1)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("training", [False, True])
def test_class_mass_of_ngrams_is_the_sum_over_the_words_of_a_signature(smoothing, order, training):
    background = learnt(order, SMOOTHINGS[smoothing])
    unseen = Sentences(np.random.default_rng(0).integers(0, WORDS, 50), np.full(10, 5))
    context = torch.cat(
        [torch.from_numpy(background.contexts(text, training)) for text in (TEXT, unseen)]
    )
    sums = torch.zeros(len(context), FEATURES.signature_count, dtype=torch.float64)
    sums.index_add_(
        1, torch.from_numpy(FEATURES.signature), of_all_words(background, context).exp()
    )
    assert torch.allclose(background.class_terms(context)[0].double(), sums.log(), atol=3e-6)
    assert torch.allclose(sums.sum(dim=1), torch.ones(len(sums), dtype=torch.float64))


@pytest.mark.parametrize("texts", [[TEXT], [random_sentences(seed=5, count=33), TEXT]])
def test_in_training_a_sentence_asks_the_ngrams_of_the_other_parts(texts):
    """It finds neither itself nor its part, whichever of the texts it is of."""
    folds = 4
    background = NGramBackground.learn(FEATURES, texts, 3, kneser_ney, rising_prior, folds)
    context = torch.from_numpy(background.contexts(TEXT, training=True))
    sentence = np.repeat(np.arange(len(TEXT.lengths)), TEXT.lengths)
    for part in range(folds):
        lacking = [_without(text, part, folds) for text in texts]
        without = NGramBackground.learn(FEATURES, lacking, 3, kneser_ney, rising_prior, folds=0)
        here = sentence % folds == part
        expected = without.class_terms(torch.from_numpy(without.contexts(TEXT)[here]))[0]
        assert torch.allclose(background.class_terms(context[here])[0], expected)


def test_a_word_that_only_a_left_out_part_holds_has_the_prior_of_an_unseen_one():
    """The prior of a part is that of the counts without it."""
    text = TEXT.chosen(np.arange(len(TEXT.lengths)) < 8)
    counts = np.bincount(text.ids, minlength=WORDS)
    background = NGramBackground.learn(FEATURES, [text], 2, kneser_ney, falling_prior, folds=4)
    context = torch.from_numpy(background.contexts(text, training=True))
    sentence = np.repeat(np.arange(len(text.lengths)), text.lengths)
    only_there = False
    for part in range(4):
        lacking = _without(text, part, 4)
        only_there |= bool(((np.bincount(lacking.ids, minlength=WORDS) == 0) & (counts > 0)).any())
        without = NGramBackground.learn(FEATURES, [lacking], 2, kneser_ney, falling_prior, folds=0)
        here = sentence % 4 == part
        expected = of_all_words(without, torch.from_numpy(without.contexts(text)[here]))
        assert torch.allclose(of_all_words(background, context[here]), expected)
    assert only_there, "else there would be nothing to tell the two priors apart"


def falling_prior(counts: np.ndarray) -> np.ndarray:
    """Words have the less mass the oftener they came."""
    return 1 / (1.0 + counts) ** 2


def _without(text: Sentences, part: int, folds: int) -> Sentences:
    others = np.arange(len(text.lengths)) % folds != part
    return Sentences(text.ids[np.repeat(others, text.lengths)], text.lengths[others])


def test_when_scoring_it_asks_the_ngrams_of_all():
    background, text = learnt(), random_sentences(seed=5, count=20, words=WORDS)
    unseen = np.where(np.bincount(TEXT.ids, minlength=WORDS) == 0, rising_prior(range(WORDS)), 0)
    plain = kneser_ney(count(TEXT, 3, WORDS), unseen / unseen.sum())
    context = torch.from_numpy(background.contexts(text))
    words = torch.from_numpy(text.ids.astype(np.int64)).unsqueeze(1)
    log_mass = background.log_mass_of(words, context).squeeze(1)
    assert log_mass.numpy() == pytest.approx(plain.score(text), rel=1e-12)


def test_the_log_linear_model_over_it_is_what_its_definition_says():
    background = learnt()
    layer, h = random_layer(FEATURES, background, dtype=torch.float32), random_states(40).float()
    context = torch.from_numpy(background.contexts(TEXT, training=True)[:40])
    expected = by_definition(
        dense(FEATURES), of_all_words(background, context), layer.adaptor(h).double()
    )
    assert torch.allclose(layer.log_prob(h, context).double(), expected, atol=1e-5)


@pytest.mark.parametrize("text", ["stream", "sentences"])
def test_every_target_is_trained_with_the_words_before_it_in_its_sentence(text):
    background = learnt(order=4)
    model = over_ngrams(background)
    contexts = model.contexts(TEXT, training=True)
    recipe = Recipe(batch=4, bptt=7, text=text)
    for batch in batches(TEXT, recipe, np.random.default_rng(0)):
        real = (batch.targets != NO_WORD).numpy()
        rows, targets = contexts[batch.positions[real]], batch.targets.numpy()[real]
        assert np.array_equal(TEXT.ids[batch.positions[real]], targets)
        for place, row in zip(batch.positions[real], rows, strict=True):
            start = TEXT.starts[TEXT.starts <= place].max()
            padded = torch.tensor([[END] * 3 + TEXT.ids[start:place].tolist()])[:, -3:]
            nodes = background.ngrams.nodes(padded, torch.tensor([row[0]]))
            assert row.tolist() == torch.cat(nodes).tolist()


def over_ngrams(background: NGramBackground) -> LanguageModel:
    torch.manual_seed(5)
    return LanguageModel(RECIPE, FEATURES, background)


def test_a_network_without_weights_scores_as_the_ngrams_do():
    background = learnt()
    model = over_ngrams(background)
    for parameter in model.parameters():
        parameter.data.zero_()
    text = random_sentences(seed=5, count=20, words=WORDS)
    words = torch.from_numpy(text.ids.astype(np.int64)).unsqueeze(1)
    expected = background.log_mass_of(words, torch.from_numpy(background.contexts(text)))
    assert scored(model, text) == pytest.approx(expected.squeeze(1).numpy(), abs=1e-5)


@pytest.mark.slow
def test_a_network_trains_on_it(tmp_path):
    trainer = Trainer(over_ngrams(learnt()), RECIPE, tmp_path)
    trainer.fit(TEXT, random_sentences(seed=5, count=20))
    assert trainer.curve[-1].valid_nats < trainer.curve[0].valid_nats


def test_trust_weighs_what_the_context_says_of_a_signature():
    """log p(s | K) = log B_s + λ_t·log B_s(K)/B_s + a_t·φ_s − log Z; shares within s stay."""
    background = learnt()
    layer = random_layer(FEATURES, background, dtype=torch.float32, background_gate=True)
    h, context = random_states(40).float(), torch.from_numpy(background.contexts(TEXT)[:40])
    log_mass, prior = (
        background.class_terms(context)[0],
        background.class_terms(context, split=True)[0],
    )
    evidence = layer.background_gate(h) * (log_mass - prior)
    signature = torch.from_numpy(FEATURES.signature)
    share = of_all_words(background, context) - log_mass[:, signature]
    log_b = (prior + evidence)[:, signature] + share
    expected = by_definition(dense(FEATURES), log_b, layer.adaptor(h).double())
    assert torch.allclose(layer.log_prob(h, context).double(), expected, atol=1e-5)
    words = torch.from_numpy(TEXT.ids[:40].astype(np.int64))
    of_words = log_b.gather(1, words.unsqueeze(1)).squeeze(1)
    assert torch.allclose(layer.log_background_of(h, words, context), of_words, atol=1e-5)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_evidence_is_what_the_context_adds_to_the_prior(order):
    background = learnt(order)
    for training in (False, True):
        context = torch.from_numpy(background.contexts(TEXT, training=training))
        prior, evidence = background.class_terms(context, split=True)
        assert torch.equal(prior, background.class_terms(context, split=True)[0])
        assert torch.allclose(prior + evidence, background.class_terms(context)[0], atol=2e-6)


MASS = np.arange(1.0, WORDS + 1)


def alone(kind: str) -> TorchBackground:
    if kind == "unigram":
        return TorchBackground(Unigram(FEATURES, MASS))
    return TorchBackground(
        NGramBackground.learn(
            FEATURES, [random_sentences()], 3, SMOOTHINGS[kind], rising_prior, folds=0
        )
    )


@pytest.mark.parametrize("kind", ["unigram", *SMOOTHINGS])
def test_it_sums_to_one_in_every_place_and_scores_from_that(kind):
    model = alone(kind)
    log_p = torch.from_numpy(model.log_distributions(OTHER))
    assert torch.allclose(log_p.logsumexp(dim=1), torch.zeros(len(log_p)).double(), atol=1e-6)
    assert torch.isfinite(log_p).all(), "no word is impossible"
    of_text = log_p[torch.arange(len(log_p)), torch.from_numpy(OTHER.ids.astype(np.int64))]
    assert model.score(OTHER) == pytest.approx(of_text.numpy(), abs=1e-6)
