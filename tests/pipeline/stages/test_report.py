"""The report's page says what is chance, how the models were made, when and by what."""

import math
import re
from datetime import date
from importlib.metadata import version

import pytest
from cli_cases import answered

from accord.pipeline.model.comparison import find
from accord.pipeline.study.compare import compare


def page_of(run) -> str:
    text = (run.folder / "report" / "index.html").read_text(encoding="utf-8")
    return re.sub(' data-name="[^"]*"', "", text)


def test_it_tells_which_differences_are_real_as_the_command_does(tiny_run):
    (said,) = compare(find(str(tiny_run.folder))).to_dict("records")[1:]
    row = ["ll-rnn", "rnn", "test", *(said[name] for name in list(said)[3:])]
    cells = "".join(f"<td>{cell}</td>" for cell in row)
    assert f"<tr>{cells}</tr>" in page_of(tiny_run)


def test_under_the_table_stands_how_many_times_better_with_the_interval_of_the_command(
    tiny_run, monkeypatch
):
    """`accord run` prints perplexity of the first model / that of each other one."""
    (said,) = compare(find(str(tiny_run.folder))).to_dict("records")[1:]
    low, high = (math.exp(-float(end)) for end in said["95 % of resamples"].split(" to "))
    factor = 1 / float(said["perplexity ×"])
    line = (tiny_run.folder / "report" / "factors.txt").read_text(encoding="utf-8")
    numbers = [float(each) for each in re.findall(r"\d+\.\d+", line)]
    assert numbers == pytest.approx([factor, high, low], abs=2e-3)
    assert line.startswith("rnn / ll-rnn, perplexity on test: ")
    assert "95% of 10,000 paired resamples of sentences" in line
    monkeypatch.chdir(tiny_run.folder.parent)
    done = answered("run", "tiny", "--set", "train.epochs=3", "--runs", ".")
    table, printed, report, *_ = re.split(r"(^rnn / .*\n)", done.stdout, flags=re.MULTILINE)
    assert printed == line and table.startswith("| model") and report.startswith("report: ")


def test_it_has_its_configuration_date_and_version(tiny_run):
    text = page_of(tiny_run)
    for key, value in (("analyse.lexicon", "tiny"), ("train.epochs", "3")):
        assert f"<tr><td>{key}</td><td>{value}</td><td>{value}</td></tr>" in text
    assert "<tr><td>featurise.templates</td><td>form</td><td>form, lemma, pos, gender" in text
    assert f"Written by Accord {version('accord-lm')}" in text
    (written,) = re.findall(r"on (\d{4}-\d\d-\d\d)\.", text)
    assert (date.today() - date.fromisoformat(written)).days in (0, 1)
