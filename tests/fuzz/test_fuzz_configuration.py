"""Damaged configurations: every key as it was written, or an error that names the file."""

import re
import types
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
import yaml
from fuzz_cases import CASES, damaged, fuzz, outcome
from hypothesis import strategies as st

from accord.pipeline.config.configuration import load_config, preset_text
from accord.pipeline.stages.table import STAGES

PRESETS = ("tiny", "default", "closed")


@CASES
def test_damaged_presets(cases, tmp_path):
    def check(data: bytes) -> None:
        found = outcome(lambda path: load_config(str(path)), tmp_path / "mine.yaml", data)
        if found is not None:
            written = {"models": found.as_dict()}
            (tmp_path / "again.yaml").write_text(yaml.safe_dump(written), encoding="utf-8")
            again = load_config(str(tmp_path / "again.yaml"))
            assert again.models == found.models

    fuzz(cases, damaged([preset_text(name).encode() for name in PRESETS]), check)


def values(hint: Any) -> st.SearchStrategy:
    """Whatever a key may hold."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values, args))
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        # In a list, a text that begins with + is added to those of the configuration below.
        whole = values(args[0]).filter(lambda item: not str(item).startswith("+"))
        return st.lists(whole, max_size=3).map(tuple)
    text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10)
    finite = st.floats(allow_nan=False, allow_infinity=False)
    return {int: st.integers(), float: finite, bool: st.booleans(), str: text}.get(hint, st.none())


@cache
def section(name: str) -> tuple[st.SearchStrategy[list[str]], dict[str, st.SearchStrategy]]:
    """Some keys of a section, and what each may hold."""
    hints = get_type_hints(STAGES[name].params)
    # The names in tables such as `losses` are those of parts, not any text.
    held = {
        field.name: st.just({}) if hints[field.name] is dict else values(hints[field.name])
        for field in fields(STAGES[name].params)
    }
    return st.lists(st.sampled_from(sorted(held)), unique=True) if held else st.just([]), held


@st.composite
def sections(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in draw(st.lists(st.sampled_from(sorted(STAGES)), unique=True)):
        keys, held = section(name)
        found[name] = {key: draw(held[key]) for key in draw(keys)}
    return found


@CASES
def test_any_sections_are_read_as_they_were_written_or_refused_by_their_range(cases, tmp_path):
    path = tmp_path / "mine.yaml"

    def check(written: dict[str, dict[str, Any]]) -> None:
        plain = {
            name: {
                key: list(value) if isinstance(value, tuple) else value
                for key, value in keys.items()
            }
            for name, keys in written.items()
        }
        path.write_text(yaml.safe_dump(plain, allow_unicode=True), encoding="utf-8")
        try:
            expected = {
                name: stage.params(**written.get(name, {})) for name, stage in STAGES.items()
            }
        except ValueError as out_of_range:
            with pytest.raises(ValueError, match=re.escape(str(out_of_range))):
                load_config(str(path))
        else:
            if expected["train"].start is None:
                assert load_config(str(path)).sections == expected
                return
            with pytest.raises(ValueError, match=r"train\.start: .*expected"):
                load_config(str(path))

    fuzz(cases, sections(), check)


LAUGHS = "a: &a [x]\n" + "".join(
    f"{one}: &{one} [{', '.join([f'*{other}'] * 10)}]\n"
    for one, other in zip("bcdefghij", "abcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("train: {epochs: 2}\ntrain: {epochs: 3}", "the key 'train' stands twice"),
        ("train: {epochs: 2, epochs: 3}", "the key 'epochs' stands twice"),
        ("base: mine.yaml", "is its own base"),
        ("base: " + "x" * 5000, "no preset"),
        ("models: {../../a: {}}", "hold no slash"),
        ("train: {learning_rate: .nan}", "expected a finite number, got nan"),
        (
            "corpus: {limit: !!python/object/apply:os.getcwd []}",
            "could not determine a constructor",
        ),
        ("corpus: " + "[" * 5000, "is not valid YAML"),
        (LAUGHS + "train: *j", "unknown section 'a'"),
        ("train: {encoder: " + "[" * 50 + "]" * 50 + "}", "elman, gru"),
    ],
)
def test_what_yaml_allows_and_a_configuration_does_not(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ValueError) as error:
        load_config("mine.yaml")
    assert said in str(error.value)
    assert "mine.yaml" in str(error.value)
    assert len(str(error.value)) < 10_000


def test_an_override_that_is_no_yaml_is_named():
    with pytest.raises(ValueError, match=r"the value of --set train\.epochs is not valid YAML"):
        load_config("tiny", ["train.epochs=["])
