"""Recorded steps, batches made ahead and the unrolled LSTM compute what the plain way computes.

Run it on a GPU after every change of the trainer: the marked tests need one.
"""

import csv
from dataclasses import replace

import numpy as np
import pytest
import torch
from training_cases import model, sentences

from accord.models.background import NGramBackground, kneser_ney
from accord.models.data import NO_WORD, batches
from accord.models.encoder import GRU, LSTM
from accord.models.gpu import windows
from accord.models.gpu.executor import ahead, entry_counter
from accord.models.gpu.kernels import log_softmax_at, rows_of
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe
from accord.models.train import Trainer, prepare_batch
from benchmarks.outputs import vocabulary
from benchmarks.training_step import text_of

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
FEATURES, MASS = vocabulary(20_000)
TEXT, VALID = text_of(MASS, 20_000), text_of(MASS, 400)
GATED = {"kind": "log-linear", "background_gate": True}
RECIPE = Recipe(
    embedding=32, hidden=32, batch=10, bptt=20, epochs=3, output=GATED, input_dropout=0,
    hidden_dropout=0, output_dropout=0,
)  # fmt: skip


def background(folds: int = 2) -> NGramBackground:
    return NGramBackground.learn(FEATURES, [TEXT], 4, kneser_ney, np.ones_like, folds)


@pytest.mark.parametrize("room", [0, 3])
def test_rows_with_room_are_followed_by_unused_entries(room):
    starts, ends = torch.tensor([4, 9, 9, 0]), torch.tensor([6, 9, 12, 1])
    row, place = rows_of(starts, ends)
    roomy_row, roomy_place = rows_of(starts, ends, len(row) + room)
    assert roomy_row[: len(row)].tolist() == row.tolist()
    assert roomy_place.tolist() == place.tolist() + [-1] * room


def test_masses_are_the_same_however_much_room_there_is():
    b = background()
    contexts = b.contexts(TEXT, training=True)[:300]
    entries, context = entry_counter(b)(contexts), torch.from_numpy(contexts)
    mass, evidence = b.class_terms(context)[0], b.class_terms(context, split=True)[1]
    for b.room in (entries, entries + 1_000):
        torch.testing.assert_close(b.class_terms(context)[0], mass)
        torch.testing.assert_close(b.class_terms(context, split=True)[1], evidence)
    b.room = entries - 1
    assert not torch.allclose(b.class_terms(context)[0], mass), "an entry has no room"


@pytest.mark.slow
@needs_gpu
@pytest.mark.parametrize(
    "changes", [{}, {"losses": {"past_decode": 0.1, "fraternal": 0.5}}], ids=len
)
def test_recorded_steps_have_the_losses_of_steps_one_by_one(tmp_path, changes):
    recipe, losses = replace(RECIPE, device="cuda", **changes), {}
    for recorded in (True, False):
        torch.manual_seed(1)
        network = LanguageModel(recipe, FEATURES, background())
        trainer = Trainer(network, recipe, tmp_path / str(recorded))
        (tmp_path / str(recorded)).mkdir()
        if not recorded:
            trainer.executor.recorded, network.encoder.reader = None, None
        trainer.fit(TEXT, VALID)
        with (tmp_path / str(recorded) / "steps.csv").open() as file:
            losses[recorded] = [float(row["nats"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(losses[True], losses[False], atol=1e-4)


def test_items_are_made_in_order_and_a_few_ahead():
    taken = []

    def items():
        for number in range(9):
            taken.append(number)
            yield number

    made = ahead(items(), lambda number: number * number, number=3)
    assert next(made) == 0
    assert taken == [0, 1, 2, 3]
    assert list(made) == [1, 4, 9, 16, 25, 36, 49, 64]


def test_an_error_of_the_thread_reaches_the_reader():
    with pytest.raises(ZeroDivisionError):
        list(ahead([1, 0], lambda number: 1 / number))


@pytest.mark.parametrize("text", ["stream", "sentences"])
def test_a_prepared_batch_has_the_targets_and_their_contexts(text):
    train, recipe = sentences(), model(text=text).recipe
    contexts = np.stack([train.ids, train.offsets], axis=1).astype(np.int64)
    for batch in batches(train, recipe, np.random.default_rng(1)):
        prepared = prepare_batch(batch, contexts)
        flat = batch.targets.flatten()
        assert prepared.words.equal(batch.words)
        assert prepared.targets.equal(flat[flat != NO_WORD])
        assert prepared.context[:, 0].equal(prepared.targets)
        assert (prepared.real is None) == bool((flat != NO_WORD).all())
        if prepared.real is not None:
            assert flat[prepared.real].equal(prepared.targets)


def cell(of_inputs, of_state, c):
    """Return state, cell and gates (i, f, g, o), as the kernel of a GPU does."""
    i, f, g, o = (of_inputs + of_state).chunk(4, dim=1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * c + i * g
    return o * c.tanh(), c, torch.cat([i, f, g, o], dim=1)


def cell_backward(of_h, of_c, before, after, activated, has_bias):
    i, f, g, o = activated.chunk(4, dim=1)
    of_c = of_c + of_h * o * (1 - after.tanh().square())
    of_gates = [
        of_c * g * i * (1 - i),
        of_c * before * f * (1 - f),
        of_c * i * (1 - g.square()),
        of_h * after.tanh() * o * (1 - o),
    ]
    return torch.cat(of_gates, dim=1), of_c * f, None


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("size", [8, 12])
@pytest.mark.parametrize("words", [1, 5, 30])
@pytest.mark.parametrize(
    ("kind", "layers", "is_unrolled"), [(LSTM, 2, True), (LSTM, 3, False), (GRU, 2, False)]
)
def test_layers_that_read_parts_compute_what_those_of_pytorch_compute(
    device, size, words, kind, layers, is_unrolled, monkeypatch
):
    if device == "cpu":
        monkeypatch.setattr(windows, "cell", cell)
        monkeypatch.setattr(windows, "cell_backward", cell_backward)
        monkeypatch.setattr(windows, "unrolls", lambda layer: is_unrolled)
    torch.manual_seed(0)
    encoder = kind(5, size, size, layers, dropout=0.2, weight_dropout=0.5).double().to(device)
    inputs = torch.randn(words, 3, 5, dtype=torch.double, device=device, requires_grad=True)
    state = [
        tuple(torch.randn_like(part).double().requires_grad_() for part in layer)
        for layer in encoder.initial_state(3)
    ]
    leaves = [inputs, *(part for layer in state for part in layer), *encoder.parameters()]
    results = []
    for encoder.reader in (windows.read_in_parts, None):
        torch.manual_seed(3)
        outputs, after = encoder(inputs, tuple(state))
        states = [part for layer in after for part in layer]
        loss = outputs.square().sum() + sum(part.sin().sum() for part in states)
        gradients = torch.autograd.grad(loss, leaves)
        results.append([outputs, *states, *gradients, torch.rand(3)])  # what is drawn next
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("count", [1, 4])
def test_log_softmax_at_some_classes_and_its_gradient(count):
    torch.manual_seed(count)
    logits = torch.randn(6, 9, dtype=torch.float64, requires_grad=True)
    classes, weights = torch.randint(9, (6, count)), torch.randn(6, count, dtype=torch.float64)
    both = log_softmax_at(logits, classes), logits.log_softmax(1).gather(1, classes)
    torch.testing.assert_close(*both)
    torch.testing.assert_close(*(torch.autograd.grad(log_p, logits, weights) for log_p in both))


def test_log_softmax_at_classes_as_good_as_impossible_or_without_mass():
    logits = torch.tensor([[0.0, -200.0, -torch.inf]], requires_grad=True)
    log_p = log_softmax_at(logits, torch.tensor([[1, 2]]))
    assert log_p.tolist() == [[-200.0, -torch.inf]]
    log_p[0, 0].backward()
    assert logits.grad.tolist() == [[-1.0, 1.0, 0.0]]
