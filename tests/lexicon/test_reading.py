"""Bad input: named by file and line; strict stops, the default skips, counts and lists."""

import pytest

from accord import lexicon
from accord.lexicon import LexiconError
from accord.lexicon.dictionaries import read_dela, read_lefff, read_unimorph
from accord.lexicon.index import Report
from accord.lexicon.tables import read_conllu

HEADER = "form\tlemma\tupos\tfeats\n"
GOOD = "blog\tblog\tNOUN\tGender=Masc|Number=Sing\n"


def here(_):
    raise AssertionError("no source is needed")


def table(tmp_path, text, name="words.tsv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


BAD_ROWS = {
    "too few columns": ("vlog\tvlog\n", "4 columns expected, 2 found"),
    "unknown upos": ("vlog\tvlog\tNOM\t\n", "unknown upos 'NOM'"),
    "a feature twice": ("vlog\tvlog\tNOUN\tGender=Masc|Gender=Fem\n", "expected Gender=Fem,Masc"),
    "duplicate": (GOOD, "the same as line 2"),
    "bad encoding": ("vlog\tvl\xe9g\tNOUN\t\n".encode("latin-1"), "expected UTF-8"),
}


@pytest.mark.parametrize("row", BAD_ROWS)
def test_a_bad_row_of_a_table(row, tmp_path):
    bad, reason = BAD_ROWS[row]
    bad = bad if isinstance(bad, bytes) else bad.encode()
    path = table(tmp_path, (HEADER + GOOD).encode() + bad)
    known = lexicon.load([path], folder=here)
    (skipped,) = known.skipped
    assert reason in skipped.reason
    assert skipped.count == 1
    assert skipped.example.startswith("words.tsv:3: ")
    assert len(known) == 1
    with pytest.raises(LexiconError, match=r"words\.tsv:3: ") as error:
        lexicon.load([path], folder=here, strict=True)
    assert reason in str(error.value)


def test_a_table_without_a_named_column(tmp_path):
    path = table(tmp_path, "form\tlemma\tpos\tfeats\n")
    with pytest.raises(LexiconError, match=r"words\.tsv:1: no column upos.*names form, lemma, pos"):
        lexicon.load([path], folder=here)


def test_columns_go_by_name_and_commas_by_suffix(tmp_path):
    path = table(tmp_path, 'upos,form,count,feats,lemma\nNOUN,"x,y",3,_,z\n', "words.csv")
    known = lexicon.load([path], folder=here)
    assert known.analyses("x,y") == (lexicon.Analysis("z", "NOUN", ""),)
    assert known.frequency(["x,y"]).tolist() == [3]


BROKEN = {
    "dela, no comma": (read_dela, "abaissa\n", "expected form,lemma.CLASS"),
    "dela, code": (read_dela, "abaissa,abaisser.V:Q3s\n", "unknown tag 'Q3s'"),
    "lefff, columns": (read_lefff, "abats\tv\tabattre\n", "4 columns expected, 3 found"),
    "lefff, class": (read_lefff, "abats\tw\tabattre\tP12s\n", "unknown tag 'w'"),
    "unimorph, feature": (read_unimorph, "aller\tva\tV;IND;XYZ\n", "unknown tag 'XYZ'"),
    "treebank, columns": (read_conllu, "1\tva\taller\tVERB\n", "10 columns expected"),
    "cut short": (read_dela, "abaissa,abaisser.V:J3s\nabaissai,ab", "a download cut short"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_bad_row_of_a_published_file(case, tmp_path):
    read, text, reason = BROKEN[case]
    path = tmp_path / "words"
    path.write_text(text, encoding="utf-8")
    report = Report(path)
    list(read(path, report))
    assert any(reason in each.reason for each in report.skipped())
    with pytest.raises(LexiconError, match="words:"):
        list(read(path, Report(path, strict=True)))


@pytest.mark.parametrize(
    ("line", "feats"),
    [
        ("abbé,.N+z1+Profession:ms", "Gender=Masc|Number=Sing|Sem=Hum"),
        ("anti\\-gang,.N+PN+Conc+HumColl:ms", "Gender=Masc|Number=Sing|Sem=Conc,HumColl"),
        ("abri,.N+z1:ms", "Gender=Masc|Number=Sing"),
    ],
)
def test_the_semantic_marks_of_dela(line, feats, tmp_path):
    path = tmp_path / "words"
    path.write_text(f"{line}\n", encoding="utf-8")
    assert [row.feats for row in read_dela(path, Report(path))] == [feats]
