"""A file is whole or absent, and an older one stays until the new one is whole."""

import os

import pytest
from full_disk import full_disk

from accord.models.common.files import whole, write_whole


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
