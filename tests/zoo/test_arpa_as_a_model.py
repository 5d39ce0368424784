"""A file of n-grams is a model for the commands that take one."""

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from accord.pipeline.cli.main import app

NGRAMS = """\\data\\
ngram 1=3

\\1-grams:
-99\t<s>
-0.3\t</s>
-0.3\tchat

\\end\\
"""
FILES = {"n.arpa": NGRAMS, "text.txt": "chat", "lists.txt": "1 ||| chat ||| 0"}
ASKED = {  # what else each command wants to be told, but for those that need a lexicon's data
    "score": ["chat"],
    "rescore": ["lists.txt"],
    "surprisal": ["text.txt"],
    "expect": ["chat"],
    "explain": ["chat"],
    "vectors": ["chat"],
    "generate": [],
}


@pytest.mark.parametrize("name", ASKED)
def test_a_file_of_ngrams_is_offered_by_the_commands_that_take_one(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    (run,) = (
        param
        for param in get_command(app).get_command(None, name).loaded().params
        if param.name == "run"
    )
    done = CliRunner().invoke(app, [name, *ASKED[name], "--run", "n.arpa"])
    assert (done.exit_code == 0) == (".arpa" in run.help), done.output
