"""Chains: the first that knows answers, plug-ins by entry point, and a chain saved in a folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from plug_in_cases import install

from accord import lexicon
from accord.lexicon import Analysis, LexiconError
from accord.lexicon.analysis import plug_in_file

ROOT = Path(__file__).parents[2]
FIRST = (
    "form\tlemma\tupos\tfeats\nporte\tporte\tNOUN\tGender=Fem|Number=Sing\nParis\tParis\tPROPN\t\n"
)
SECOND = (
    "form\tlemma\tupos\tfeats\nporte\tporter\tVERB\t\nparis\tpari\tNOUN\t\noeuf\toeuf\tNOUN\t\n"
)


@pytest.fixture
def names(tmp_path):
    (tmp_path / "first.tsv").write_text(FIRST, encoding="utf-8")
    (tmp_path / "second.tsv").write_text(SECOND, encoding="utf-8")
    return [str(tmp_path / "first.tsv"), str(tmp_path / "second.tsv")]


def lemmas(chain, form):
    return [each.lemma for each in chain.analyses(form)]


def test_fallback_asks_the_next_only_what_is_unknown(names):
    chain = lexicon.load(names, folder=None)
    assert lemmas(chain, "porte") == ["porte"]
    assert lemmas(chain, "paris") == ["pari"]
    assert lemmas(chain, "zut") == []


def test_union_asks_all(names):
    chain = lexicon.load(names, folder=None, join="union")
    assert lemmas(chain, "porte") == ["porte", "porter"]


def test_union_has_what_two_lexicons_say_alike_once(names):
    Path(names[1]).write_text(SECOND + FIRST.splitlines(keepends=True)[1], encoding="utf-8")
    chain = lexicon.load(names, folder=None, join="union")
    rows = chain.lookup(["porte", "oeuf"])
    assert rows["lemma"].tolist() == ["porte", "porter", "oeuf"]
    assert rows["source"].tolist() == ["first", "second", "second"]
    assert lemmas(chain, "porte") == ["porte", "porter"]


def test_exact_case_first_then_lower_case_then_no_ligature(names):
    chain = lexicon.load(list(reversed(names)), folder=None)
    assert lemmas(chain, "Paris") == ["Paris"]
    assert lemmas(chain, "PORTE") == ["porter"]
    assert lemmas(chain, "Œuf") == ["oeuf"]


def test_a_lowercased_text_finds_names_too(names):
    chain = lexicon.load(names, folder=None, join="union", lowercase=True)
    assert lemmas(chain, "paris") == ["Paris", "pari"]


@pytest.mark.parametrize("join", ["fallback", "union"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_lookup_and_analyses_say_the_same(names, join, lowercase):
    chain = lexicon.load(["closed", *names, "guesser"], folder=None, join=join, lowercase=lowercase)
    forms = ["Porte", "du", "1999", "zut", "PARIS", "œuf", "Zorglub", "paris", "porte", "porte"]
    rows = chain.lookup(forms)
    assert list(rows.columns) == ["word", "lemma", "upos", "feats", "weight", "source"]
    assert rows["word"].is_monotonic_increasing
    assert set(rows["word"]) == set(range(len(forms)))
    for place, form in enumerate(forms):
        of_form = rows[rows["word"] == place][list(Analysis._fields)]
        assert [tuple(row) for row in of_form.itertuples(index=False)] == list(chain.analyses(form))


def test_the_source_of_each_answer(names):
    rows = lexicon.load(["closed", *names, "guesser"], folder=None).lookup(["le", "porte", "zut"])
    assert rows.groupby("word")["source"].first().tolist() == ["closed", "first", "guesser"]


def test_the_guesser_comes_last(names):
    with pytest.raises(LexiconError, match="last"):
        lexicon.load(["guesser", *names], folder=None)
    with pytest.raises(LexiconError, match="nothing to learn from"):
        lexicon.load(["closed", "guesser"], folder=None)


def test_a_treebank_teaches_the_guesser_and_says_nothing_itself(tmp_path):
    row = "{}\t{}\t_\tNOUN\t_\tNumber=Sing\t0\troot\t_\t_\n"
    words = ["maison", "raison", "saison"]
    bank = tmp_path / "train.conllu"
    bank.write_text("".join(row.format(i, word) for i, word in enumerate(words, 1)) + "\n")
    chain = lexicon.load([f"treebank:{bank}", "guesser"], folder=None)
    assert chain.analyses("maison") == chain.analyses("liaison")
    assert set(chain.lookup(words)["source"]) == {"guesser"}


PLUGIN = """
from accord.lexicon.index import LexiconRow
from accord.lexicon.index import TextLexicon

def read(path, report):
    yield LexiconRow("schtroumpf", "schtroumpf", "NOUN", "Gender=Masc|Number=Sing")

comic = TextLexicon("comic", "CC0", source=None, file=__file__, read=read, version=1)

def careless(request):
    return 1 / 0
"""
ASK = "import lexicon; print(lexicon.load(['comic'], folder=None).analyses('Schtroumpf')[0].upos)"
POINTS = {
    "accord.lexicons": [
        "comic = comic_words:comic",
        "absent = comic_words:absent",
        "unreadable = no_such_module:words",
        "careless = comic_words:careless",
    ]
}


@pytest.fixture
def plug_ins(tmp_path, monkeypatch):
    install(tmp_path, "comic-words", {"comic_words": PLUGIN}, POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_lexicon_that_another_package_brings(plug_ins):
    assert lexicon.load(["comic"], folder=None).analyses("Schtroumpf")[0].upos == "NOUN"
    assert plug_in_file("comic") == plug_ins / "comic_words.py"
    assert plug_in_file("tiny") is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent", "'absent' of comic-words cannot be loaded: AttributeError"),
        ("unreadable", "'unreadable' of comic-words cannot be loaded: ModuleNotFoundError"),
        ("careless", "'careless' cannot be made: ZeroDivisionError: division by zero"),
    ],
)
def test_a_broken_plug_in_is_named(plug_ins, name, said):
    with pytest.raises(LexiconError, match=said):
        lexicon.load([name], folder=None)


@pytest.mark.slow
def test_the_plug_in_of_the_contributing_guide_is_whole(tmp_path):
    """Installed by pip as it stands there, and asked in a process of its own."""
    project, target = tmp_path / "project", tmp_path / "target"
    project.mkdir()
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", guide, re.DOTALL)
    assert [name for name, _ in files] == ["comic_words.py", "pyproject.toml"]
    for name, text in files:
        (project / name).write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--target", str(target), str(project)], check=True
    )
    path = os.pathsep.join([str(ROOT), str(target)])
    asked = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout.strip() == "NOUN"
