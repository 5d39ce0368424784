"""`--set`: one key for all models or for one, and what is replaced is said."""

import re
from contextlib import chdir

import numpy as np
import pytest

from accord.pipeline.config.configuration import load_config
from accord.pipeline.config.sections import FeaturiseParams
from accord.pipeline.run.run import _overrides


@pytest.fixture
def two(tmp_path) -> str:
    """Two models, of which one has epochs of its own."""
    path = tmp_path / "two.yaml"
    path.write_text("base: tiny\nmodels: {short: {train: {epochs: 5}}, long: {}}")
    return str(path)


def test_overrides_change_one_key_for_all_models():
    config = load_config("tiny", ["train.epochs=2", "train.learning_rate=1e-4"])
    assert {sections["train"].epochs for sections in config.models.values()} == {2}
    assert {sections["train"].learning_rate for sections in config.models.values()} == {1e-4}
    with pytest.raises(ValueError, match=r"expected --set section\.key=value"):
        load_config("tiny", ["train=3"])


def epochs(config) -> dict[str, int]:
    return {model: sections["train"].epochs for model, sections in config.models.items()}


def test_an_override_holds_for_models_with_keys_of_their_own_and_says_so(two, capsys):
    assert epochs(load_config(two, ["train.epochs=1"])) == {"short": 1, "long": 1}
    said = capsys.readouterr().err
    assert "--set train.epochs is for all models, also for those that have a value" in said
    assert "of their own: short;" in said
    for silent in ("train.epochs=5", "train.patience=1"):
        load_config(two, [silent])
        assert capsys.readouterr().err == ""


def test_an_override_may_name_one_model_and_then_outweighs_what_is_for_all(two, capsys):
    assert epochs(load_config(two, ["short.train.epochs=7"])) == {"short": 7, "long": 30}
    for order in (1, -1):
        overrides = ["short.train.epochs=7", "train.epochs=2"][::order]
        assert epochs(load_config(two, overrides)) == {"short": 7, "long": 2}
    assert capsys.readouterr().err == ""
    assert load_config("tiny", ["ll-rnn.train.embedding=64"]).models["rnn"]["train"].embedding == 48
    source = load_config("tiny", ["corpus.source=a.train.epochs=1.txt"]).sections["corpus"].source
    assert source == ("a.train.epochs=1.txt",)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("ll-rn.train.epochs=1", "no model 'll-rn'; the nearest is 'll-rnn'"),
        ("ll-rnn.report.title=x", "report is of all models; expected report.title=…"),
    ],
)
def test_an_override_of_one_model_that_cannot_be_meant_is_refused(override, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        load_config("tiny", [override])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.tsv,tiny", ("a.tsv", "tiny")),
        ("a.tsv, tiny", ("a.tsv", "tiny")),
        ("tiny", ("tiny",)),
        ("['a,b.tsv', tiny]", ("a,b.tsv", "tiny")),
    ],
)
def test_an_override_of_a_list_may_be_separated_by_commas(value, expected):
    overrides = [f"analyse.lexicon={value}", f"corpus.pretraining={value}", "report.title=un, deux"]
    config = load_config("tiny", overrides)
    assert {sections["analyse"].lexicon for sections in config.models.values()} == {expected}
    assert config.sections["corpus"].pretraining == expected, "which may be nothing too"
    assert config.sections["report"].title == "un, deux", "which is no list"


def test_values_from_python_are_what_they_are(tmp_path):
    values = {
        "report.title": "Accord: mine",
        "analyse.lexicon": ("tiny", tmp_path / "à moi: 1.tsv"),
        "corpus.pretraining": None,
        "corpus.limit": np.int64(50),
        "tokenise.lowercase": False,
        "train.learning_rate": 1e-05,
        "train.encoder": {"kind": "window", "order": 3},
        "featurise.templates": "[form, gender]",
    }
    config = load_config("tiny", _overrides(values))
    sections = config.models["rnn"]
    assert sections["report"].title == "Accord: mine"
    assert sections["analyse"].lexicon == ("tiny", str(tmp_path / "à moi: 1.tsv"))
    assert (sections["corpus"].pretraining, sections["corpus"].limit) == (None, 50)
    assert sections["tokenise"].lowercase is False
    assert sections["train"].learning_rate == 1e-05
    assert sections["train"].encoder == {"kind": "window", "order": 3}
    assert sections["featurise"].templates == ("form", "gender")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("train.batch=0", "train.batch: expected 1 or more, got 0"),
        ("train.input_dropout=2", "train.input_dropout: expected from 0 to under 1, got 2.0"),
        ("featurise.vectors={dimensions: -1}", "featurise.vectors.dimensions: expected 0 or more"),
        ("train.learning_rate=0", "train.learning_rate: expected more than 0, got 0.0"),
        ("train.losses={temporal: a}", "train.losses.temporal: expected float, got 'a'"),
        (
            "train.phases={pretraining: {epochs: 0}}",
            "phases: pretraining.epochs: expected 1 or more",
        ),
        ("train.phases={pretrainin: {}}", "train.phases: expected one of pretraining"),
        ("train.teachers={weight: 2.0}", "train.teachers.weight: expected from 0 to 1, got 2.0"),
        ("train.min_delta=-0.1", "train.min_delta: expected 0 or more, got -0.1"),
        (
            "train.losses={activation: .inf}",
            "train.losses.activation: expected a finite number, got inf",
        ),
        ("train.optimiser={momentum: 0.9}", "adamw: unknown setting 'momentum'"),
        ("corpus.test=-3", "corpus.test: expected a share below 1 or a number of sentences"),
        ("encode.merges=-1", "encode.merges: expected 0 or more, got -1"),
    ],
)
def test_a_value_out_of_its_range_is_refused_by_name(override, expected):
    with pytest.raises(ValueError, match=re.escape(expected)):
        load_config("tiny", [override])


def templates(config) -> list[tuple[str, ...]]:
    return [sections["featurise"].templates for sections in config.models.values()]


def test_templates_with_a_plus_are_added_to_those_below(tmp_path):
    default = FeaturiseParams().templates
    base, own = tmp_path / "base.yaml", tmp_path / "own.yaml"
    base.write_text("featurise: {templates: [form, pos]}\n")
    own.write_text("base: base.yaml\nfeaturise: {templates: [+sem, +pos]}\n")
    with chdir(tmp_path):
        assert templates(load_config("own.yaml")) == [("form", "pos", "sem")]
        own.write_text("featurise: {templates: [+sem]}\n")
        assert templates(load_config("own.yaml")) == [(*default, "sem")]
        added = load_config("own.yaml", ["featurise.templates=+pos×gender"])
        assert templates(added) == [(*default, "sem", "pos×gender")]
        own.write_text("models: {one: {featurise: {templates: [+sem]}}, two: {}}\n")
        assert templates(load_config("own.yaml")) == [(*default, "sem"), default]


def test_a_list_of_templates_is_whole_or_added():
    with pytest.raises(ValueError, match=r"featurise\.templates: expected a whole list, or a \+"):
        load_config("tiny", ["featurise.templates=[form, +sem]"])
