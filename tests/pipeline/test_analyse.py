"""The analyse stage: bad rows of a user's table are named, and stop the run where asked to."""

import pytest

import pipeline

TABLE = "form\tlemma\tupos\tfeats\nchat\tchat\tNOUN\tGender=Masc\nchien\tchien\tNOM\t_\n"


def run(tmp_path, **overrides):
    (tmp_path / "mine.tsv").write_text(TABLE, encoding="utf-8")
    chain = f"[tiny, {tmp_path / 'mine.tsv'}]"
    keys = {"analyse.lexicon": chain} | overrides
    return pipeline.run("tiny", set=keys, until="analyse", runs=tmp_path / "runs")


def test_a_bad_row_is_left_out_and_named(tmp_path, capsys):
    run(tmp_path)
    said = capsys.readouterr().err
    assert "1 rows left out, unknown upos 'NOM'" in said
    assert "mine.tsv:3" in said


def test_strict_stops_at_it(tmp_path):
    with pytest.raises(ValueError, match=r"mine\.tsv.*3.*unknown upos 'NOM'"):
        run(tmp_path, **{"analyse.strict": True})
