"""A file is whole or absent, and an older one stays until the new one is whole."""

import os
from pathlib import Path

import numpy as np
import pytest
from full_disk import full_disk
from ngram_cases import WORDS, random_sentences

from accord.models.background import kneser_ney
from accord.models.common.files import whole, write_whole
from accord.models.ngrams import count
from accord.zoo.arpa import write_arpa
from accord.zoo.wfst import ngram_automaton, write_wfst


def test_a_file_appears_when_it_is_written(tmp_path):
    path = tmp_path / "table.csv.gz"
    with whole(path) as partial:
        assert partial.name == path.name
        partial.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("before", [None, "old"])
def test_what_fails_leaves_the_older_file_or_none(tmp_path, before):
    path = tmp_path / "table.csv"
    if before:
        path.write_text(before)
    with pytest.raises(KeyError), whole(path) as partial:
        partial.write_text("half")
        raise KeyError
    with pytest.raises(OSError, match="File too large") as error, full_disk(10):
        write_whole(path, b"longer than ten bytes")
    assert error.value.filename == str(path)
    assert (path.read_text() if path.exists() else None) == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name] * bool(before)


def test_a_pipe_and_what_a_link_names_are_written_to(tmp_path):
    path, link, pipe = tmp_path / "table.csv", tmp_path / "link.csv", tmp_path / "pipe"
    path.write_text("old")
    link.symlink_to(path)
    write_whole(link, b"new")
    assert link.is_symlink() and path.read_text() == "new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"new")
    assert os.read(reader, 10) == b"new"
    assert pipe.is_fifo()
    os.close(reader)


def write_automaton(model, forms, path) -> None:
    write_wfst(ngram_automaton(model), forms, path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("x.arpa", write_arpa), ("x.arpa.gz", write_arpa), ("x.fst.txt", write_automaton)],
)
def test_no_half_model_has_the_name_of_a_whole_one(tmp_path, name, write):
    model = kneser_ney(count(random_sentences(), 3, WORDS), np.full(WORDS, 1 / WORDS))
    forms = ["</s>", *(f"mot{number}" for number in range(1, WORDS))]
    path: Path = tmp_path / name
    with pytest.raises(OSError, match="File too large"), full_disk(60):
        write(model, forms, path)
    assert not path.exists()
    write(model, forms, path)
    content = path.read_bytes()
    with pytest.raises(OSError, match="File too large"), full_disk(60):
        write(model, forms, path)
    assert path.read_bytes() == content
