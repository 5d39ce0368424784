"""A configuration is checked key by key: what is wrong is named, with the nearest name."""

import json
import re
from contextlib import chdir
from dataclasses import replace

import numpy as np
import pytest

from accord.models.background import Uniform
from accord.models.common.schema import hints_of, meaning
from accord.models.model import LanguageModel
from accord.models.parts import ENCODERS
from accord.models.phi import Features
from accord.pipeline.config.configuration import (
    editor_schema,
    explain,
    layered,
    load_config,
    preset_names,
)
from accord.pipeline.config.sections import OF_ALL_MODELS, SECTIONS, FeaturiseParams
from accord.pipeline.model.find import BUNDLED_FOLDER
from accord.pipeline.stages.table import STAGES

OF_THE_ZOO = {"ngrams", "peers", "survey"}  # whose systems tests/zoo loads


def write(tmp_path, text: str) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("preset", sorted({*preset_names()} - OF_THE_ZOO))
def test_every_preset_is_valid(preset):
    start = layered(preset)[0].get("train", {}).get("start")
    if start and not BUNDLED_FOLDER.exists():
        pytest.skip(f"the model {start} is not in this checkout")
    config = load_config(preset)
    assert config.name == preset
    assert all(set(sections) == set(STAGES) for sections in config.models.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("corpsu: {limit: 3}", "unknown section 'corpsu'; the nearest is 'corpus'"),
        ("corpus: {limt: 3}", "unknown key 'limt'; the nearest is 'limit'"),
        ("corpus: {limit: many}", "corpus.limit: expected int, got 'many'"),
        ("train: {encoder: lstn}", "the nearest is 'lstm'"),
        ("models: {a: {trian: {}}}", "model 'a': unknown section 'trian'"),
        ("featurise: {vectors: {dimension: 3}}", "the nearest is 'dimensions'"),
        ("- corpus", "expected sections such as 'corpus:'"),
        ("corpus: {limit: 3", "is not valid YAML"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path, text, said):
    with pytest.raises(ValueError) as error:
        load_config(write(tmp_path, text))
    assert said in str(error.value)
    assert "mine.yaml" in str(error.value)


def test_unknown_preset_and_missing_file():
    with pytest.raises(ValueError, match="no preset 'defualt'; the nearest is 'default'"):
        load_config("defualt")
    with pytest.raises(FileNotFoundError, match="no configuration file"):
        load_config("nowhere.yaml")


def test_some_models_are_chosen_in_their_own_order():
    assert list(load_config("peers", models=["gru"]).models) == ["gru"]
    assert list(load_config("tiny", models=["ll-rnn", "rnn"]).models) == ["rnn", "ll-rnn"]
    with pytest.raises(ValueError, match="preset 'tiny': no model 'll-rn'; the nearest is"):
        load_config("tiny", models=["ll-rn"])


@pytest.mark.parametrize("name", ["../out", "", ".hidden", "a/b"])
def test_the_name_of_a_run_leads_nowhere_else(name):
    with pytest.raises(ValueError, match="--name: expected names that begin with a letter"):
        load_config("tiny", name=name)


def test_a_model_changes_only_what_it_names():
    config = load_config("tiny")
    assert config.models["rnn"]["featurise"].templates == ("form",)
    assert config.models["ll-rnn"]["featurise"] == config.sections["featurise"]
    assert config.models["rnn"]["corpus"] == config.models["ll-rnn"]["corpus"]


def test_the_explanation_is_itself_a_valid_configuration_and_explains_every_key(tmp_path):
    text = explain({name: stage.help for name, stage in STAGES.items()})
    config = load_config(write(tmp_path, text))
    assert config.sections == {name: section() for name, section in SECTIONS.items()}
    for name, section in SECTIONS.items():
        for key, hint in hints_of(section).items():
            assert meaning(hint), f"{name}.{key} is unexplained"


def test_the_sections_are_those_of_the_stages():
    assert {name: stage.params for name, stage in STAGES.items()} == SECTIONS
    assert {name for name, stage in STAGES.items() if stage.over_models} == {*OF_ALL_MODELS}


def test_an_editor_knows_every_key_with_its_limits_and_choices():
    schema = json.loads(editor_schema())["properties"]
    assert {*SECTIONS, "base", "models"} == schema.keys()
    train = schema["train"]["properties"]
    assert train["bptt"]["minimum"] == 1 and train["precision"]["enum"] == ["float32", "bfloat16"]
    names, *described = train["encoder"]["anyOf"]
    assert "lstm" in names["enum"]
    window = next(part for part in described if part["properties"]["kind"] == {"const": "window"})
    assert window["properties"]["order"]["minimum"] == 1
    assert train["losses"]["properties"]["fraternal"] == {"type": "number", "minimum": 0}


def test_a_base_is_changed_section_by_section_and_its_models_are_replaced(tmp_path):
    whole, tiny = load_config(write(tmp_path, "base: tiny")), load_config("tiny")
    assert (whole.sections, whole.models) == (tiny.sections, tiny.models)
    changed = load_config(write(tmp_path, "base: tiny\ntrain: {epochs: 2}\nmodels: {one: {}}"))
    assert set(changed.models) == {"one"}
    assert changed.sections["train"] == replace(tiny.sections["train"], epochs=2)
    assert changed.sections["corpus"] == tiny.sections["corpus"]
    with pytest.raises(ValueError, match="no preset 'tinny'; the nearest is 'tiny'"):
        load_config(write(tmp_path, "base: tinny"))


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


def test_ngrams_and_a_pretrained_model_are_not_both_the_background():
    overrides = ["train.phases={pretraining: {use: background}}", "background.kind=ngram"]
    with pytest.raises(
        ValueError, match=r"model 'rnn': train\.phases: pretraining\.use: background takes the"
    ):
        load_config("tiny", overrides)
    assert load_config("tiny", [overrides[0], "background.kind=uniform"])


@pytest.mark.parametrize("name", ENCODERS.parts())
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("tied", [True, False])
def test_a_width_that_no_layer_has_is_said_and_is_no_other_model(name, layers, tied, capsys):
    """As the models themselves have it: do the shapes of their weights depend on `hidden`?"""
    settings = [
        f"train.encoder={name}",
        f"train.layers={layers}",
        f"train.tied={str(tied).lower()}",
    ]
    features, found, shapes = Features.one_hot(5), [], []
    for hidden in (16, 32):
        config = load_config("tiny", [*settings, f"train.hidden={hidden}"])
        found.append(config.models["ll-rnn"]["train"])
        recipe = replace(found[-1], hidden=hidden)
        model = LanguageModel(recipe, features, Uniform(features), ends=np.ones(5))
        shapes.append([weight.shape for weight in model.parameters()])
    is_unused = shapes[0] == shapes[1]
    assert (found[0] == found[1]) is is_unused
    said = "train.hidden has no effect on rnn, ll-rnn: a tied encoder without hidden layers"
    assert (said in capsys.readouterr().err) is is_unused
