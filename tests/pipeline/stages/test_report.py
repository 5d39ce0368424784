"""The report's page says what is chance, how the models were made, when and by what."""

import re
from datetime import date
from importlib.metadata import version

import pytest

import accord
from accord.pipeline.compare.tables import compare


def page_of(run) -> str:
    return (run.folder / "report" / "index.html").read_text(encoding="utf-8")


def test_it_tells_which_differences_are_real_as_the_command_does(tiny_run):
    (said,) = compare(tiny_run.folder).to_dict("records")[1:]
    row = ["ll-rnn", "rnn", "test", *(said[name] for name in list(said)[3:])]
    cells = "".join(f"<td>{cell}</td>" for cell in row)
    assert f"<tr>{cells}</tr>" in page_of(tiny_run)


@pytest.mark.slow
def test_models_of_other_sentences_are_not_said_to_differ(tmp_path):
    config = tmp_path / "seeds.yaml"
    config.write_text("base: tiny\nmodels: {one: {}, two: {corpus: {seed: 2}}}")
    run = accord.run(str(config), set={"train.epochs": 1}, runs=tmp_path)
    assert "Is it chance?" not in page_of(run)


def test_it_has_its_configuration_date_and_version(tiny_run):
    text = page_of(tiny_run)
    for key, value in (("analyse.lexicon", "tiny"), ("train.epochs", "3")):
        assert f"<tr><td>{key}</td><td>{value}</td><td>{value}</td></tr>" in text
    assert "<tr><td>featurise.templates</td><td>form</td><td>form, lemma, pos, gender" in text
    assert f"Written by Accord {version('accord-lm')}" in text
    (written,) = re.findall(r"on (\d{4}-\d\d-\d\d)\.", text)
    assert (date.today() - date.fromisoformat(written)).days in (0, 1)


def test_each_chart_is_drawn_for_wide_and_for_narrow_screens(tiny_run):
    text = page_of(tiny_run)
    for width, points in (("wide", 792), ("narrow", 331.2)):
        drawn = re.findall(rf'<div class="{width}"><svg [^>]*width="([\d.]+)pt"', text)
        assert [float(each) for each in drawn] == [points] * 2
    assert len(re.findall("<table", text)) == len(re.findall(r'class="scroll"><table|<h3>', text))
