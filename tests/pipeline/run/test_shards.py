"""A text prepared in shards is the text prepared at once, byte by byte."""

import json
from pathlib import Path

import pytest
from run_cases import Here

from accord.corpora.sources import read
from accord.pipeline.base import arrow as tables
from accord.pipeline.base.artefact import hashes_of
from accord.pipeline.config.configuration import load_config
from accord.pipeline.run.pool import SHARDS, Shards
from accord.pipeline.run.run import Run
from accord.pipeline.stages import tokenise


@pytest.fixture
def changes(tmp_path, monkeypatch) -> list[str]:
    """Sources that can be cut and others that cannot, with copies, labels and documents."""
    monkeypatch.setattr(tables, "BATCH", 20)
    texts = [sentence.text for sentence in read("tiny")]
    rows = [
        {"text": text, "document": f"d{number // 7}", "genre": "abc"[number // 90]}
        for number, text in enumerate(texts[:250] + texts[40:60])
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "texts").mkdir()
    for number in range(4):
        lines = "\n".join(texts[200 + 40 * number : 250 + 40 * number])
        (tmp_path / "texts" / f"{number}.txt").write_text(f"{lines}\n\nZorglub glube .\n")
    first = "\n".join(texts[:30])
    (tmp_path / "first.txt").write_text(f"{first}\nEncore une autre phrase que voilà .\n")
    sources = f"[{tmp_path / 'rows.jsonl'}, {tmp_path / 'texts'}]"
    pretraining = f"corpus.pretraining={tmp_path / 'first.txt'}"
    return [f"corpus.source={sources}", pretraining, "corpus.labels=[genre, source]"]


def prepared(
    runs: Path, changes: list[str], shards: Shards | None = None, until: str = "encode"
) -> Run:
    this = Run(load_config("tiny", changes, ["ll-rnn"]), runs, shards)
    this.execute(until)
    return this


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "counts"), [("open", (1, 5)), ("closed", (2,))])
def test_the_bytes_do_not_depend_on_the_number_of_shards(tmp_path, changes, protocol, counts):
    changes = [*changes, f"analyse.protocol={protocol}", "encode.merges=20"]
    whole = hashes_of(prepared(tmp_path / "whole", changes).store.folder)
    assert any(name.endswith("train.documents.npy") for name in whole)
    assert any(name.endswith("pretraining.labels.npy") for name in whole)
    for count in counts:
        here = Here()
        this = prepared(tmp_path / str(count), changes, Shards(count, here))
        assert hashes_of(this.store.folder) == whole
        assert here.called >= 4 * count


@pytest.mark.slow
def test_an_interrupted_stage_resumes_with_the_shards_that_are_whole(
    tmp_path, changes, capsys, monkeypatch
):
    whole = prepared(tmp_path / "whole", changes, until="tokenise")
    here = Here()
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(tokenise, "compute", lambda *given, **shards: 1 / 0)
        prepared(tmp_path / "runs", changes, Shards(5, here))
    [left] = (tmp_path / "runs" / "artefacts").glob(".tokenise-*.partial")
    damaged, missing, *others = sorted(left.glob(f"{SHARDS}/*/{tokenise.COUNTS}"))
    assert len(others) == 3
    damaged.write_bytes(damaged.read_bytes()[:-1])
    missing.unlink()
    (left / "stranger.arrow").write_bytes(b"of the interrupted run")
    capsys.readouterr()
    this = prepared(tmp_path / "runs", changes, Shards(5, here), "tokenise")
    assert "tokenise: 3 of 5 shards are there" in capsys.readouterr().err
    assert hashes_of(this.store.folder) == hashes_of(whole.store.folder)
