"""`accord lexicon`: one broken plug-in is named, and all others answer."""

import pytest
from plug_in_cases import install
from typer.testing import CliRunner

from pipeline.cli.main import app

PLUGIN = """
from lexicon.reading import Row
from lexicon.text import TextLexicon

def read(path, report):
    yield Row("schtroumpf", "schtroumpf", "NOUN", "Gender=Masc|Number=Sing")

comic = TextLexicon("comic", "CC0", source=None, file=__file__, read=read)

def careless(request):
    return 1 / 0
"""
POINTS = [
    "unreadable = nowhere:words",
    "careless = comic_tales:careless",
    "comic = comic_tales:comic",
]


@pytest.mark.parametrize("command", [["list"], ["show", "schtroumpf", "--lexicon", "comic"]])
def test_a_broken_plug_in_is_named_and_left_out(tmp_path, monkeypatch, command):
    install(tmp_path, "comic-tales", {"comic_tales": PLUGIN}, {"accord.lexicons": POINTS})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ACCORD_DATA", str(tmp_path))  # where no lexicon's data are
    said = CliRunner().invoke(app, ["lexicon", *command])
    assert said.exit_code == 0, said.output
    assert "| comic " in said.stdout
    assert "careless" not in said.stdout and "unreadable" not in said.stdout
    assert "left out: lexicon 'unreadable' of comic-tales cannot be loaded: Mod" in said.stderr
    assert "left out: lexicon 'careless' cannot be made: ZeroDivisionError" in said.stderr
