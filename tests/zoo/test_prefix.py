"""Features of the whole prefix: φ(K, x) and ψ(K) by functions of Python."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from log_linear_cases import DOUBLE, dense, random_states, sparse, with_random_weights

import accord
from accord.models.background import Unigram
from accord.models.common.registry import PLUGINS, trust_files
from accord.models.data import Sentences
from accord.models.log_linear import Described, OutputContext
from accord.models.parts import OUTPUTS
from accord.pipeline.data.encoded import read_text
from accord.pipeline.model.network import load_trained
from accord.zoo import outputs
from accord.zoo.outputs import PREFIX_FEATURES, PrefixLogLinear, PrefixStates, WordSeen

FORMS = ["</s>", "la", "le", "les", "fille", "garçon", "belle", "beau", "belles", "."]
NAMES = [
    "Gender=Fem",
    "Gender=Masc",
    "Number=Sing",
    "Number=Plur",
    "pos=DET",
    "pos=NOUN",
    "pos=ADJ",
]
ROWS = [
    [0, 0, 0, 0, 0, 0, 0],
    [1, 0, 1, 0, 1, 0, 0],
    [0, 1, 1, 0, 1, 0, 0],
    [1, 1, 0, 1, 1, 0, 0],
    [1, 0, 1, 0, 0, 1, 0],
    [0, 1, 1, 0, 0, 1, 0],
    [1, 0, 1, 0, 0, 0, 1],
    [0, 1, 1, 0, 0, 0, 1],
    [1, 0, 0, 1, 0, 0, 1],
    [0, 0, 0, 0, 0, 0, 0],
]
TEXT = Sentences(np.array([1, 4, 6, 9, 0, 2, 5, 7, 0, 3, 4, 8, 0, 2, 0]), np.array([5, 4, 4, 2]))
MASS = np.arange(1.0, 11.0)


def mean_length(prefix, word):
    """A real-valued feature of all of the prefix, and one of the last word and the candidate."""
    return {
        "length": len(prefix) * float("NOUN" in word["pos"]),
        "same gender": float(bool(prefix and prefix[-1]["Gender"] & word["Gender"])),
    }


mean_length.read = lambda prefix: {"words": len(prefix) / 4}


def layer_of(function, exact=False):
    features = sparse(ROWS)
    if exact:
        features = features.split_by(np.arange(len(FORMS)))
    prefixes = PrefixStates(features, Described(FORMS, NAMES), function)
    layer = PrefixLogLinear(features, Unigram(features, MASS), 5, prefixes=prefixes)
    return with_random_weights(layer.to(DOUBLE))


def by_definition(layer, function, h):
    """log p(x | K) word by word: log b + (W·h + U·ψ(K) + c)·φ(x) + (W'·h + c')·φ(K, x) − log Z."""
    words = [WordSeen(form, of(row)) for form, row in zip(FORMS, ROWS, strict=True)]
    prefixes, ids = [], TEXT.ids.tolist()
    for start, length in zip(TEXT.starts, TEXT.lengths, strict=True):
        prefixes += [[words[i] for i in ids[start : start + k]] for k in range(length)]
    phi_k = torch.tensor(
        [[[*function(k, word).values()] for word in words] for k in prefixes], dtype=DOUBLE
    )
    read = getattr(function, "read", lambda k: {})
    psi = torch.tensor([[*read(k).values()] for k in prefixes], dtype=DOUBLE)
    a = h @ layer.weight.T + layer.bias + psi @ layer.read_weight.T
    of_prefix = h @ layer.prefix_weight.T + layer.prefix_bias
    scores = torch.tensor(MASS).log() + a @ torch.tensor(ROWS, dtype=DOUBLE).T
    return (scores + torch.einsum("nf,nvf->nv", of_prefix, phi_k)).log_softmax(1), phi_k


def of(row):
    values = {}
    for name, value in zip(NAMES, row, strict=True):
        if value:
            values.setdefault(name.partition("=")[0], set()).add(name.partition("=")[2])
    return {name: frozenset(found) for name, found in values.items()}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("function", [mean_length, outputs.agreement, outputs.position])
def test_p_sums_to_one_and_is_that_of_the_definition(function, exact):
    layer, h = layer_of(function, exact), random_states(len(TEXT.ids))
    context = torch.from_numpy(layer.background.contexts(TEXT))
    log_p = layer.log_prob(h, context)
    assert torch.allclose(log_p.exp().sum(1), torch.ones(len(h), dtype=DOUBLE))
    assert torch.allclose(log_p, by_definition(layer, function, h)[0])


def test_the_gradient_is_expected_minus_observed_features_of_the_prefix():
    layer, h = layer_of(mean_length), random_states(len(TEXT.ids))
    context, targets = torch.from_numpy(layer.background.contexts(TEXT)), torch.tensor(TEXT.ids)
    log_p, phi_k = by_definition(layer, mean_length, h)
    expected = torch.einsum("nv,nvf->nf", log_p.exp(), phi_k)
    observed = phi_k[torch.arange(len(targets)), targets]
    layer.loss(h, targets, context).backward()
    on_adaptor = (expected - observed).detach() / len(targets)
    assert torch.allclose(layer.prefix_weight.grad, on_adaptor.T @ h)
    assert torch.allclose(layer.prefix_bias.grad, on_adaptor.sum(0))
    on_phi = (log_p.exp() @ torch.tensor(ROWS, dtype=DOUBLE)).detach()
    psi = torch.tensor([[k / 4] for n in TEXT.lengths for k in range(n)], dtype=DOUBLE)
    observed = torch.tensor(dense(sparse(ROWS)))[targets]
    assert torch.allclose(layer.read_weight.grad, (on_phi - observed).T @ psi / len(targets))


def test_equal_states_share_the_calls_and_must_share_the_features():
    layer = layer_of(outputs.agreement)
    numbers = layer.background.contexts(TEXT)
    assert len({*numbers.ravel()}) == 4  # nothing, la or fille, le or garçon, les

    def forgetful(words, word):
        return {"length": float(len(words))}

    forgetful.remember = lambda words: 0
    layer, h = layer_of(forgetful), random_states(len(TEXT.ids))
    context = torch.from_numpy(layer.background.contexts(TEXT))
    with pytest.raises(ValueError, match="differ after '\\(nothing\\)' and 'la', which are one"):
        layer.log_prob(h, context)


def test_a_file_is_loaded_only_if_the_user_names_it(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text("def features(prefix, word, *, reach: int = 3):\n    return {'n': reach}\n")
    choice = {"kind": "prefix-features", "features": {"kind": f"{path}:features", "reach": 2}}
    with pytest.raises(ValueError, match=f"it is not run.*set {PLUGINS}="):
        OUTPUTS.choose(choice)
    monkeypatch.setenv(PLUGINS, str(path))
    assert OUTPUTS.choose(choice)["features"]["reach"] == 2
    monkeypatch.delenv(PLUGINS)
    trust_files({"output": choice})
    assert PREFIX_FEATURES[f"{path}:features"]([], None) == {"n": 3}
    with pytest.raises(ValueError, match="expected 'feature'; the nearest is 'features'"):
        PREFIX_FEATURES[f"{path}:feature"]


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
