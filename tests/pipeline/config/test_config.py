"""A configuration is checked key by key, and says what is wrong and what is nearest."""

import json
from dataclasses import replace

import pytest

from accord.models.common.schema import hints_of, meaning
from accord.pipeline.config.configuration import load_config
from accord.pipeline.config.explanation import editor_schema, explain
from accord.pipeline.config.presets import layered, preset_names
from accord.pipeline.config.sections import OF_ALL_MODELS, SECTIONS
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


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("models: {rnn: null, other: {}}", ["other"]),
        ("base: tiny\nmodels: {rnn: null}", ["ll-rnn"]),
        ("base: tiny\nmodels: {rnn: null, mine: {}}", ["ll-rnn", "mine"]),
    ],
)
def test_null_removes_a_model(tmp_path, text, models):
    assert list(load_config(write(tmp_path, text)).models) == models


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


def test_the_models_of_make_run_are_measured_on_a_thousand_sentences_of_the_same_text():
    """2,500 are for training; n-grams stand beside the networks, all spelled by one protocol.

    Shares and no numbers, so that a short text of one's own can be split too.
    """
    models = load_config("default").models
    assert {"rnn", "kneser-ney-5", "ll-rnn"} <= models.keys()
    corpus = models["rnn"]["corpus"]
    held_out = [round(share * corpus.limit) for share in (corpus.valid, corpus.test)]
    assert held_out[1] >= 1000
    assert corpus.limit - sum(held_out) == 2500
    for stage in ("corpus", "tokenise", "analyse", "encode"):
        assert len({sections[stage] for sections in models.values()}) == 1
    spelled = {sections["background"].spelling for sections in models.values()}
    assert len(spelled) == 1
