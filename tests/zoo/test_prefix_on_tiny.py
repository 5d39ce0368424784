"""The ten lines of docs/model.md are a feature: on the words of `tiny`, Σp = 1 and E[φ] − φ."""

import re
from pathlib import Path

import pytest
import torch

import accord
from accord.models.common.registry import trust_files
from accord.models.log_linear import Described, OutputContext
from accord.models.parts import OUTPUTS
from accord.pipeline.data.encoded import read_text
from accord.pipeline.model.network import load_trained
from accord.zoo.outputs import PREFIX_FEATURES

MODEL_PAGE = Path(__file__).parents[2] / "docs" / "model.md"


@pytest.fixture(scope="module")
def layer_and_text(tiny_run, tmp_path_factory):
    (lines,) = re.findall(
        r'```python title="agree.py"\n(.*?)```', MODEL_PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    assert len([line for line in lines.splitlines() if line.strip()]) <= 10
    file = tmp_path_factory.mktemp("mine") / "agree.py"
    file.write_text(lines, encoding="utf-8")
    choice = {"kind": "prefix-features", "features": f"{file}:features"}
    trust_files(choice)
    scorer = accord.load(tiny_run.folder, "ll-rnn")
    parts = scorer.parts
    background = load_trained(parts).output.background
    described = Described(list(parts.vocabulary.forms), parts.feature_names)
    given = OutputContext(
        "", parts.features.phi, background, 6, None, None, described=lambda: described
    )
    torch.manual_seed(1)
    layer = OUTPUTS.make(choice, given).double()
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(torch.randn(weight.shape, dtype=torch.float64) / 4)
    text = read_text(scorer.trained.folders["encode"], "test").part(0, 12)
    return layer, text, PREFIX_FEATURES[f"{file}:features"]


def test_p_sums_to_one_after_every_prefix(layer_and_text):
    layer, text, _ = layer_and_text
    h = torch.randn(len(text.ids), 6, dtype=torch.float64)
    p = layer.log_prob(h, torch.from_numpy(layer.background.contexts(text))).exp()
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p), dtype=torch.float64))
