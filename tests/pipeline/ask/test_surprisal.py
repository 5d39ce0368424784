"""From a table of stimuli to a table of words: every number is the one that `score` would give."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_cases import invoked

import accord
from accord.pipeline.ask.surprisal import MEASURES, surprisal
from accord.pipeline.base.tables import read_table

STIMULI = Path(__file__).parents[2] / "data" / "stimuli.csv"


@pytest.fixture(scope="module")
def scorer(tiny_run):
    return accord.load(tiny_run.folder, "ll-rnn")


@pytest.fixture(scope="module")
def words(scorer):
    return surprisal(read_table(STIMULI, "sentence"), scorer, regions="regions", expect=["Number"])


def command(*arguments):
    return invoked(*arguments)


def test_surprisals_are_those_of_score_to_the_last_digit(scorer, words):
    table = read_table(STIMULI, "sentence")
    assert len(table) == 60
    scored = scorer.score_all(table["sentence"].str.replace("|", " "))
    expected = [-word.log_p / math.log(2) for sentence in scored for word in sentence[:-1]]
    np.testing.assert_array_max_ulp(words["surprisal"].to_numpy(), np.array(expected), maxulp=1)
    assert words["spelled"].tolist() == [w.spelled for sentence in scored for w in sentence[:-1]]


def test_a_path_is_read_as_the_command_reads_it(scorer, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Le chat dort.\n\nLa robe est verte.\n", encoding="utf-8")
    for path in (STIMULI, text):
        expected = surprisal(read_table(path, "sentence"), scorer)
        pd.testing.assert_frame_equal(surprisal(str(path), scorer), expected)
        pd.testing.assert_frame_equal(surprisal(path, scorer), expected)
    with pytest.raises(FileNotFoundError, match="Le chat dort"):
        surprisal("Le chat dort.", scorer)
    with pytest.raises(ValueError, match="expected a table or the path of one, got a list"):
        surprisal(["Le chat dort."], scorer)


def test_a_row_has_the_tables_columns_and_the_word_as_written(words):
    table = read_table(STIMULI, "sentence")
    assert words.columns[:4].tolist() == ["row", "item", "condition", "sentence"]
    assert [name for name in MEASURES if name in words] == [*MEASURES]
    cut = [row.sentence[row.start : row.end] for row in words.itertuples()]
    assert words["word"].tolist() == cut
    for row, of_sentence in words.groupby("row"):
        assert of_sentence["position"].tolist() == [*range(1, len(of_sentence) + 1)]
        assert (of_sentence["item"] == table["item"][row - 1]).all()
    first = words.groupby("region", sort=False)["word"].first()
    assert first.to_dict() == {"subject": "La", "attractor": "de", "verb": "était", "rest": "belle"}


def test_what_spills_over_and_what_entropy_is_reduced_by(words):
    for _, own in words.groupby("row"):
        before = own["previous_surprisal"].to_numpy()
        assert np.isnan(before[0]) and (before[1:] == own["surprisal"].to_numpy()[:-1]).all()
        entropy = own["entropy"].to_numpy()
        reduction = own["entropy_reduction"].to_numpy()
        np.testing.assert_allclose(reduction[:-1], entropy[:-1] - entropy[1:])
    assert np.allclose(words[["p_Number_Plur", "p_Number_Sing", "p_Number_none"]].sum(axis=1), 1)


def test_a_word_of_rank_one_is_the_likeliest(scorer, words):
    batch, _ = scorer.encoded([*scorer.read(words["sentence"].str.replace("|", " ").unique())])
    best = scorer.model.log_distributions(batch).argmax(axis=1)
    of_words = batch.ids != 0
    is_best = (best == batch.ids)[of_words]
    assert is_best.any()
    assert ((words["rank"] == 1) >= is_best).all()


def test_frequencies_are_those_of_lexique_whatever_was_fetched(scorer, monkeypatch, tmp_path):
    for name in ("ACCORD_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    words = surprisal(pd.DataFrame({"sentence": ["Des chats voient des zyglotrons."]}), scorer)
    found = words.set_index("word")["log_frequency"]
    assert found["chats"] == pytest.approx(1.432, abs=5e-4)
    assert found["Des"] == found["des"] > found["chats"]
    assert np.isnan(found["zyglotrons"])
    counts = scorer.parts.words.column("count")[1:]
    stop = counts[scorer.id_of(".") - 1] / counts.sum() * 1e6
    assert found["."] == pytest.approx(np.log10(stop)), "Lexique lacks it, the training text not"


def test_words_spelled_by_the_character_model_can_be_left_out(scorer, tmp_path):
    table = pd.DataFrame({"sentence": ["Le zyglotron dort.", "Le chat dort."], "condition": "a"})
    words = surprisal(table, scorer)
    known = surprisal(table, scorer, drop_spelled=True)
    assert words["spelled"].sum() == 1 and len(known) == len(words) - 1
    expected = words[~words["spelled"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(known, expected)  # the previous words are those of the text
    table.to_csv(tmp_path / "in.csv", index=False)
    options = ["--drop-spelled", "--to", tmp_path / "out.csv", "--run", scorer.trained.place]
    done = command("surprisal", tmp_path / "in.csv", *options)
    assert done.exit_code == 0, done.output
    assert "left out: 1 word spelled by the character model" in done.stderr
    assert pd.read_csv(tmp_path / "out.csv")["word"].tolist() == known["word"].tolist()


@pytest.mark.parametrize(
    ("sentence", "names", "expected"),
    [
        ("Le chat | du voisin | dort.", None, [1, 1, 2, 2, 3, 3]),
        ("Le chat|du voisin|dort.|", None, [1, 1, 2, 2, 3, 3]),
        ("Le chat du voisin dort.", "D N P N V", ["D", "N", "P", "N", "V", "V"]),
        ("Le chat | du voisin | dort.", "a b|c|d", ["a b", "a b", "c", "c", "d", "d"]),
    ],
)
def test_regions_are_parts_between_bars_or_words_between_spaces(scorer, sentence, names, expected):
    table = pd.DataFrame({"sentence": [sentence]} | ({"where": [names]} if names else {}))
    found = surprisal(table, scorer, regions="where" if names else None)
    assert found["region"].tolist() == expected


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"sentences": ["Le chat."]}, "the nearest is 'sentences'"),
        ({"sentence": ["Le chat.", " | ", None]}, "found none in row 2, 3"),
        ({"sentence": ["Le chat."], "word": [1]}, "has a column 'word', as the result has"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(scorer, table, said):
    with pytest.raises(ValueError, match=said):
        surprisal(pd.DataFrame(table), scorer)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "txt"])
def test_tables_of_all_kinds_are_read(tmp_path, ending):
    rows = pd.DataFrame({"item": ["01", "02"], "sentence": ["Oui, le chat.", "NA"]})
    path = tmp_path / f"items.{ending}"
    if ending == "csv":
        path.write_text("\ufeffitem;sentence\r\n01;Oui, le chat.\r\n02;NA\r\n", encoding="utf-8")
    elif ending == "tsv":
        rows.to_csv(path, sep="\t", index=False)
    elif ending == "parquet":
        rows.to_parquet(path)
    else:
        path.write_text("Oui, le chat.\n\nNA\n", encoding="utf-8")
        rows = pd.DataFrame({"line": [1, 3], "sentence": rows["sentence"]})
    assert read_table(path, "sentence").values.tolist() == rows.values.tolist()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"item,sentence\n1,Il est l\xe0\x81.\n", "expected UTF-8, found byte"),
        ("a.txt", b"Il est l\xe0\x81.\n", "expected UTF-8, found byte"),
        ("a.csv", b"item,sentence\n1,Oui, le chat.\n", "line 2: expected 2 columns .*, got 3"),
        ("a.tsv", b'item\tsentence\n1\t"Oui" dit-il.\n', "line 2: expected a row of a table"),
        ("a.csv", b"", "expected a table with a header and rows"),
        ("a.parquet", b"PAR1", "expected a table in Parquet"),
        ("a.jsonl", b'{"sentence": "Oui."}\n', "expected a text, or a name that ends in .csv"),
    ],
)
def test_a_file_that_is_no_such_table_is_named_with_its_line(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=said) as error:
        read_table(tmp_path / name, "sentence")
    assert name in str(error.value) and not isinstance(error.value, UnicodeError)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "words.docx"], "--to: expected a name that ends in .csv, .tsv, .parquet"),
        (["--models", "rnn", "--model", "rnn"], "expected --model or --models, got both"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(tiny_run, arguments, said):
    done = command("surprisal", STIMULI, "--run", tiny_run.folder, *arguments)
    assert done.exit_code == 2 and said in done.stderr
