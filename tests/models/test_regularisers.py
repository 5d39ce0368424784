"""Further terms of the loss, of the training alone: penalties, past decoding, two runs at once."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from training_cases import RECIPE, WORDS, model, sentences

from accord.models.background import Unigram
from accord.models.common.files import WEIGHTS
from accord.models.log_linear import LogLinear
from accord.models.model import LanguageModel, Seen
from accord.models.phi import Features
from accord.models.regularisers import (
    ActivationPenalty,
    AdaptorPenalty,
    PastDecoder,
    apply_terms,
    regularisers,
)
from accord.models.train import Trainer

TEXT = sentences()
READ = torch.from_numpy(TEXT.ids[:40].astype("int64")).view(10, 4)
NO_DROPOUT = dict.fromkeys([name for name in vars(RECIPE) if name.endswith("_dropout")], 0.0)
BOTH = {"losses": {"past_decode": 0.3, "fraternal": 0.7}}
STRENGTH = 0.3


def features_by_two() -> Features:
    return Features.from_rows(np.arange(WORDS + 1), np.arange(WORDS) // 2, np.ones(WORDS), 6)


def decoding(**changes) -> tuple[LanguageModel, PastDecoder]:
    """Return a network in training and its past decoder; two words share each signature."""
    torch.manual_seed(5)
    features = features_by_two()
    recipe, mass = replace(RECIPE, **changes), np.arange(1, WORDS + 1)
    network = LanguageModel(recipe, features, Unigram(features, mass))
    decoder = PastDecoder(network.output, STRENGTH, seed=1)
    for weight in (*network.parameters(), *decoder.parameters()):
        weight.data.normal_(std=0.5)
    return network, decoder


def run_of(network: LanguageModel, real: torch.Tensor | None = None, terms=None):
    """Return the loss and the results of a pass over a small text, by default with all terms."""
    torch.manual_seed(9)
    targets = READ[1:].flatten() if real is None else READ[1:].flatten()[real]
    context = torch.zeros(len(targets), 0, dtype=torch.int64)
    state, begun = network.encoder.initial_state(4), network.begin(targets, context)
    terms = [*regularisers(network.recipe, network).values()] if terms is None else terms
    run = partial(network.loss, READ[:-1], targets, state, context, real, begun=begun)
    return apply_terms(run, terms, [()] * len(terms))


def loss_of(network: LanguageModel, real: torch.Tensor | None = None, terms=None) -> torch.Tensor:
    return run_of(network, real, terms)[0]


def seen_with(classes, read: torch.Tensor) -> Seen:
    """Return a pass that read these words and predicted these signatures."""
    nothing = [None] * 5
    return Seen(read, *nothing, classes=classes, nats=torch.zeros(()), state=())


def past_by_hand(network: LanguageModel, decoder: PastDecoder, positions: list[int]) -> float:
    """Return λ·NLL of the signatures read, from p and embeddings of words."""
    h, _ = network(READ[:-1], network.encoder.initial_state(4))
    p = network.output.log_prob(h.flatten(0, 1)).exp()
    embedded = network.embedding(torch.arange(WORDS))
    nats = []
    for at in positions:
        mean = sum(p[at, word] * embedded[word] for word in range(WORDS))
        decoded = torch.tanh(decoder.weight @ mean + decoder.bias)
        scores = embedded[::2] @ decoded + decoder.signature_bias
        nats.append(-scores.log_softmax(dim=0)[READ.flatten()[at] // 2].item())
    return STRENGTH * float(np.mean(nats))


@pytest.mark.parametrize("positions", [range(36), [0, 3, 4, 17, 35]], ids=len)
def test_the_past_is_decoded_from_what_is_predicted(positions):
    network, decoder = decoding(**NO_DROPOUT)
    real = None if len(positions) == 36 else torch.tensor(positions)
    found = loss_of(network, real, [decoder]) - loss_of(network, real, [])
    expected = past_by_hand(network, decoder, list(positions))
    assert found.item() == pytest.approx(expected, rel=1e-4)


def test_the_past_teaches_the_network_and_what_decodes_it():
    network, decoder = decoding(**NO_DROPOUT)
    h = torch.randn(9, 8, requires_grad=True)
    seen = seen_with(network.output.score_signatures(h, None), torch.arange(9))
    decoder(seen.nats, seen).backward()
    for weight in (h, network.output.weight, *decoder.parameters()):
        assert (weight.grad != 0).any()


def test_labels_crossed_with_features_are_no_part_of_the_rows_that_decode():
    network, decoder = decoding()
    output = network.output
    crossed = LogLinear(features_by_two(), output.background, 8, weight=output.weight, extra=3)
    torch.nn.init.normal_(crossed.label_weight)
    predicted = crossed.score_signatures(torch.randn(9, 8 + 3), None)
    bare = replace(predicted, rows=crossed.product(output.weight))
    assert predicted.rows.shape == (6, 8 + 3)
    found, expected = (
        decoder(torch.zeros(()), seen_with(classes, torch.arange(9))).item()
        for classes in (predicted, bare)
    )
    assert found == pytest.approx(expected)


def test_two_runs_without_dropout_are_one():
    once, twice = (model(**NO_DROPOUT, losses={"fraternal": strength}) for strength in (0.0, 0.5))
    assert loss_of(once).equal(loss_of(twice))


def test_two_runs_drop_other_units_and_count_alike():
    twice = model(losses={"fraternal": 0.5})
    found = loss_of(twice)
    torch.manual_seed(9)
    runs = []
    for _ in range(2):
        h, _ = twice(READ[:-1], twice.encoder.initial_state(4))
        runs.append((twice.output.loss(h.flatten(0, 1), READ[1:].flatten()), h))
    (one, first), (other, second) = runs
    assert not one.equal(other)
    expected = (one + other) / 2 + 0.5 * (first - second).pow(2).mean()
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    weights = [*twice.parameters()]
    gradients = (torch.autograd.grad(loss, weights) for loss in (found, expected))
    for of_both, of_each in zip(*gradients, strict=True):
        torch.testing.assert_close(of_both, of_each)


def test_nats_and_state_are_those_of_the_first_run():
    runs = [run_of(model(losses={"fraternal": strength})) for strength in (0.0, 0.5)]
    (loss, once), (other_loss, twice) = runs
    for one, other in zip(once.state, twice.state, strict=True):
        assert all(a.equal(b) for a, b in zip(one, other, strict=True))
    assert once.nats.equal(twice.nats)
    assert not loss.equal(other_loss)


@pytest.mark.slow
def test_terms_are_trained_and_not_saved(tmp_path):
    saved = {}
    for name, changes in {"plain": {}, "both": BOTH}.items():
        (tmp_path / name).mkdir()
        recipe = replace(RECIPE, epochs=1, **changes)
        trainer = Trainer(model(**changes), recipe, tmp_path / name)
        initial = {key: weight.clone() for key, weight in trainer.terms.named_parameters()}
        trainer.fit(TEXT, TEXT)
        assert len(initial) == (0 if name == "plain" else 3)
        trained = trainer.terms.named_parameters()
        assert not any(weight.equal(initial[key]) for key, weight in trained)
        saved[name] = load_file(tmp_path / name / WEIGHTS)
    plain, both = saved.values()
    assert plain.keys() == both.keys()
    assert not any(plain[name].equal(both[name]) for name in plain)


def test_the_past_decoder_changes_no_other_draw(tmp_path):
    states = []
    for strength in (0.0, 0.3):
        network = model()
        Trainer(network, replace(RECIPE, losses={"past_decode": strength}), tmp_path)
        states.append(torch.get_rng_state())
    assert states[0].equal(states[1])


def test_features_of_the_next_word_are_a_second_target():
    """ℓ₂ = −Σ_f [v_f·log σ(z_f) + (1 − v_f)·log(1 − σ(z_f))] over the features that words share."""
    rows = [[word // 3, 4 + word] for word in range(WORDS)]  # a class, and a feature of its own
    psi = Features.from_rows(
        2 * np.arange(WORDS + 1), np.ravel(rows), np.ones(2 * WORDS), 4 + WORDS
    )
    phi = Features.one_hot(WORDS)
    recipe = replace(RECIPE, **NO_DROPOUT, tied=False, losses={"features": 0.4})
    torch.manual_seed(5)
    network = LanguageModel(recipe, phi, Unigram(phi, np.ones(WORDS)), psi=psi)
    (term,) = regularisers(recipe, network).values()
    term.bias.data.normal_()
    assert term.weight.shape == (4, recipe.hidden), "a feature that one word has is left out"
    text = sentences()
    term.prepare(network, text, text)
    positions = np.arange(36)
    targets = torch.from_numpy(text.ids[:36].astype("int64"))
    context = torch.zeros(36, 0, dtype=torch.int64)
    seen = network.loss(READ[:-1], targets, network.encoder.initial_state(4), context)
    loss = term(torch.tensor(1.0), seen, *term.of_batch(positions))
    z = seen.states @ term.weight.T + term.bias
    has = torch.nn.functional.one_hot(targets // 3, 4).bool()
    nats = -torch.where(has, z.sigmoid(), 1 - z.sigmoid()).log().sum(dim=1).mean()
    assert loss.item() == pytest.approx(1.0 + 0.4 * nats.item(), rel=1e-5)
    with pytest.raises(ValueError, match=r"losses.features: expected features that words are read"):
        regularisers(recipe, LanguageModel(recipe, phi, Unigram(phi, np.ones(WORDS))))


def test_the_penalty_of_size_and_of_change():
    outputs = torch.tensor([1.0, 3.0, 3.0]).reshape(3, 1, 1)
    assert ActivationPenalty(1.0, 0.0).penalty(outputs, outputs * 2) == pytest.approx(76 / 3)
    assert ActivationPenalty(0.0, 1.0).penalty(outputs, outputs * 2) == pytest.approx(2.0)
    assert ActivationPenalty(2.0, 1.0).penalty(outputs[:1], outputs[:1]) == pytest.approx(2.0)


@pytest.mark.slow
def test_the_curve_has_nats_of_the_text_whatever_is_penalised(tmp_path):
    dropouts = ("input", "hidden", "output", "feature", "weight")
    still = {f"{name}_dropout": 0.0 for name in dropouts} | {"ema": 0.0, "text": "sentences"}
    still |= {"epochs": 2, "learning_rate": 1e-12}  # nothing is learned either
    losses = {"activation": 2.0, "temporal": 3.0, "adaptor": 4.0, "past_decode": 0.5}
    changes = still | {"losses": losses}
    trainer = Trainer(model(**changes), replace(RECIPE, **changes), tmp_path)
    trainer.fit(sentences(), sentences())
    for epoch in trainer.curve:
        assert epoch.train_nats == pytest.approx(epoch.valid_nats, rel=1e-4)
    assert len(trainer.curve) == 2


def padded(lengths: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return outputs of columns of these lengths, the same after dropout, and the mask of words."""
    outputs, dropped = torch.randn(2, max(lengths), len(lengths), 5, dtype=torch.float64)
    is_word = torch.arange(max(lengths))[:, None] < torch.tensor(lengths)
    return outputs, dropped, is_word


def penalty(outputs, dropped, is_word) -> torch.Tensor:
    real = is_word.flatten().nonzero().squeeze(1)
    return ActivationPenalty(2.0, 3.0).penalty(outputs, dropped, real)


@pytest.mark.parametrize("lengths", [[7], [4, 4, 4], [1, 6, 2, 2, 9], [1, 1]])
def test_the_penalty_of_a_batch_is_that_of_its_sentences_by_their_words(lengths):
    outputs, dropped, is_word = padded(lengths)
    alone = [
        length * ActivationPenalty(2.0, 3.0).penalty(outputs[:length, [at]], dropped[:length, [at]])
        for at, length in enumerate(lengths)
    ]
    found = penalty(outputs, dropped, is_word)
    assert found.item() == pytest.approx(sum(alone).item() / sum(lengths))
    outputs[~is_word], dropped[~is_word] = 1e3, -1e3
    assert penalty(outputs, dropped, is_word).equal(found), "what is behind an end does not count"


def test_the_adaptor_penalty_is_the_norm_of_the_weights():
    network = model()
    h = torch.randn(9, 8)
    nn.init.normal_(network.output.bias)
    seen = Seen(*[None] * 4, states=h, output=network.output, classes=None, nats=None, state=())
    penalty = AdaptorPenalty(0.5)(torch.zeros(()), seen)
    assert penalty.item() == pytest.approx(
        0.5 * network.output.adaptor(h).pow(2).sum(dim=1).mean().item(), rel=1e-5
    )
