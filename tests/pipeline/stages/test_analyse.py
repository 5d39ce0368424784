"""The analyse stage: bad rows of a user's table are named, and stop the run where asked to."""

import pytest

import accord

TABLE = "form\tlemma\tupos\tfeats\nchat\tchat\tNOUN\tGender=Masc\nchien\tchien\tNOM\t_\n"


def run(tmp_path, **overrides):
    (tmp_path / "mine.tsv").write_text(TABLE, encoding="utf-8")
    chain = f"[tiny, {tmp_path / 'mine.tsv'}]"
    keys = {"analyse.lexicon": chain} | overrides
    return accord.run("tiny", set=keys, until="analyse", runs=tmp_path / "runs")


@pytest.mark.slow
def test_a_bad_row_is_left_out_and_named(tmp_path, capsys):
    run(tmp_path)
    said = capsys.readouterr().err
    assert "1 row left out: unknown upos 'NOM'; " in said
    assert "mine.tsv:3" in said


@pytest.mark.slow
def test_a_text_whose_words_no_lexicon_has_is_doubted(tmp_path, capsys):
    run(tmp_path)
    assert "Is the text French?" not in capsys.readouterr().err
    english = tmp_path / "english.txt"
    english.write_text("".join(f"We walk {n} miles with our friends.\n" for n in range(30)))
    run(tmp_path, **{"corpus.source": str(english)})
    said = capsys.readouterr().err
    assert "Is the text French?" in said
    assert "corpus: 3 test sentences: too few to compare models" in said


def test_strict_stops_at_it(tmp_path):
    with pytest.raises(ValueError, match=r"mine\.tsv.*3.*unknown upos 'NOM'"):
        run(tmp_path, **{"analyse.strict": True})


def test_what_a_treebank_as_a_lexicon_says_is_read_anew_when_it_changes(tmp_path, capsys):
    treebank = tmp_path / "mine.conllu"
    row = "1\tmiaule\tmiauler\t{}\t_\t_\t0\troot\t_\t_\n\n"
    treebank.write_text(row.format("NOUN"), encoding="utf-8")
    keys = {"analyse.lexicon": f"[tiny, treebank:{treebank}, guesser]"}
    for tag, reason in (
        ("NOUN", "analyse [rnn]: running (not made yet)"),
        ("VERB", "mine.conllu changed"),
    ):
        treebank.write_text(row.format(tag), encoding="utf-8")
        accord.run("tiny", set=keys, until="analyse", runs=tmp_path / "runs")
        assert reason in capsys.readouterr().err
