"""Growing: a widened network computes what the narrow one did, and all of it goes on learning."""

import pytest
import torch
from query_cases import scored
from training_cases import log_linear, model, sentences

from accord.zoo.learning import widen

TEXT = sentences()


@pytest.mark.parametrize("encoder", ["elman", "gru", "irnn", "lstm"])
@pytest.mark.parametrize("tied", [True, False])
def test_nothing_is_lost_when_a_network_is_widened(encoder, tied):
    shape = {"encoder": encoder, "layers": 3, "tied": tied}
    narrow, wide = model(**shape, hidden=6).eval(), model(**shape, hidden=18).eval()
    for weight in [*narrow.parameters(), *wide.parameters()]:
        weight.data.normal_(std=0.3)  # as if both were trained
    assert scored(wide, TEXT) != pytest.approx(scored(narrow, TEXT), abs=1e-3)
    widen(wide, narrow)
    assert scored(wide, TEXT) == pytest.approx(scored(narrow, TEXT), abs=1e-5)


def test_a_temperature_is_left_to_the_end():
    narrow, wide = (
        model(layers=2, hidden=6),
        model(layers=2, hidden=18, output=log_linear(temperature=True)),
    )
    widen(wide, narrow)
    assert scored(wide, TEXT) == pytest.approx(scored(narrow, TEXT), abs=1e-5)


def test_new_units_learn():
    shape = {"layers": 2, "weight_dropout": 0.0}
    narrow, wide = model(**shape, hidden=6), model(**shape, hidden=18)
    widen(wide, narrow)
    words = torch.from_numpy(TEXT.ids[:40].astype("int64")).view(10, 4)
    loss = wide.eval().loss(
        words[:-1],
        words[1:].flatten(),
        wide.encoder.initial_state(4),
        torch.zeros(36, 0, dtype=torch.int64),
    )
    loss.nats.backward()
    read_of_new = wide.encoder.layers[1].input_weight.grad[:, 6:]
    assert (wide.encoder.layers[1].input_weight[:, 6:] == 0).all()
    assert (read_of_new != 0).any(dim=0).all()
