"""An encoder with a setting of its own, and a metric, that another package brings in one file."""

import pytest
from plug_in_cases import install

import accord
from accord.pipeline.config.configuration import explain, load_config
from accord.pipeline.model.metrics import METRICS
from accord.pipeline.run.run import Run
from accord.pipeline.stages.table import STAGES

JORDAN = '''
from typing import Annotated

import torch
from torch import nn

from accord.pipeline.model.metrics import METRICS


class KeptInputs(nn.Module):
    """The last outputs are read again beside the next word (KeptInputs 1986)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        memory: Annotated[float, "the share of older outputs in what is read again"] = 0.5,
    ):
        super().__init__()
        self.memory, self.outputs = memory, outputs
        self.layer = nn.Linear(inputs + outputs, outputs)

    def forward(self, inputs, state):
        kept, found = state[0][0], []
        for step in inputs.split(1):
            found.append(self.layer(torch.cat([step, kept], dim=-1)).tanh())
            kept = self.memory * kept + (1 - self.memory) * found[-1]
        return torch.cat(found), ((kept,),)

    def initial_state(self, batch):
        return ((self.layer.weight.new_zeros(1, batch, self.outputs),),)


@METRICS.register("nats of the worst word", column="worst", digits=1)
def worst(text):
    return -text.log_p.min()


def hopeless(text):
    return 1 / 0
'''
POINTS = {
    "accord.encoders": [
        "kept_inputs = kept_inputs_net:KeptInputs",
        "broken = kept_inputs_net:Elman",
    ],
    "accord.metrics": [
        "nats of the worst word = kept_inputs_net:worst",
        "bad = kept_inputs_net:hopeless",
    ],
}
CONFIG = """
base: tiny
train: {encoder: {kind: kept_inputs, memory: 0.25}, epochs: 1}
models: {kept_inputs: {}}
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(METRICS, "_registered", {**METRICS._registered})
    install(tmp_path, "kept_inputs-net", {"kept_inputs_net": JORDAN}, POINTS)
    (tmp_path / "mine.yaml").write_text(CONFIG)
    return tmp_path


@pytest.mark.slow
def test_one_file_from_outside_is_explained_chosen_trained_loaded_and_watched(installed, capsys):
    explained = explain(dict.fromkeys(STAGES, ""))
    assert "#   kept_inputs: The last outputs are read again beside the next word" in explained
    assert "#     memory: 0.5 – the share of older outputs in what is read again" in explained
    assert (
        "left out: encoder 'broken' of kept_inputs-net cannot be loaded: AttributeError"
        in explained
    )

    config, runs = str(installed / "mine.yaml"), installed / "runs"
    run = accord.run(config, runs=runs)
    recipe = accord.load(run.folder).parts.recipe
    assert recipe.encoder == {"kind": "kept_inputs", "memory": 0.25}
    assert accord.load(run.folder).model.network.encoder.memory == 0.25
    assert "| worst" in (run.folder / "report" / "table.md").read_text().splitlines()[0]
    assert "evaluate: metric 'bad' is left out: division by zero" in capsys.readouterr().err

    (installed / "kept_inputs_net.py").write_text(JORDAN.replace(".tanh()", ".sin()"))
    states = {each.stage.name: each.state for each in Run(load_config(config), runs).status()}
    assert (states["encode"], states["train"], states["evaluate"]) == ("done", "stale", "stale")
