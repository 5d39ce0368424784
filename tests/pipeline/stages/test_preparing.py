"""The stages that prepare: what each writes is what the sentences hold."""

import json
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset, load_from_disk
from safetensors.numpy import load_file
from scipy.sparse import csr_matrix, load_npz

import accord
from accord.models.ngrams import discounted, groups_of
from accord.models.phi import Features
from accord.pipeline.base import arrow as tables
from accord.pipeline.base.arrow import WRITTEN, read_written, rows, save_written, write_rows
from accord.pipeline.base.names import END_ID
from accord.pipeline.config.configuration import load_config
from accord.pipeline.config.sections import TokeniseParams
from accord.pipeline.model.folder import COPIED
from accord.pipeline.stages import corpus, tokenise
from accord.pipeline.stages.corpus import SCHEMA
from accord.pipeline.stages.table import STAGES


@pytest.fixture
def text(tmp_path):
    """A corpus in several batches, of a text and of a treebank's rows."""

    def row(number: int) -> dict:
        raw = {"id": str(number), "text": f"L'arbre n° {number} du Parc.", "part": "texte"}
        rows = {"forms": ["Du", "de", "le"], "kinds": ["contracted", "part", "part"]}
        return raw if number % 3 else raw | rows | {"part": "arbres"}

    (tmp_path / "corpus").mkdir()
    schema = corpus.SCHEMA.append(corpus.PART)
    tables.write_rows(tmp_path / "corpus" / "train.arrow", schema, map(row, range(50)))
    return tmp_path / "corpus"


def made(out, text, **params) -> list[dict]:
    out.mkdir()
    tokenise.compute(TokeniseParams(**params), {"corpus": text}, out)
    return list(tables.rows(out / "train.arrow"))


UNGUARDED = """
import os, sys
from pathlib import Path

os.fork = None  # a fork copies the locks that other threads hold
print("begins")
from accord.pipeline.config.sections import TokeniseParams
from accord.pipeline.stages import tokenise
text, one, several = map(Path, sys.argv[1:])
tokenise.compute(TokeniseParams(processes=1), {"corpus": text}, one)
tokenise.compute(TokeniseParams(processes=2), {"corpus": text}, several)
"""


@pytest.mark.slow
def test_several_processes_make_the_same_file_without_a_fork_or_the_main_script(
    tmp_path, monkeypatch, text
):
    monkeypatch.setattr(tables, "BATCH", 7)
    folders = [tmp_path / name for name in ("small", "one", "several")]
    for folder in folders:
        folder.mkdir()
    schema = corpus.SCHEMA.append(corpus.PART)
    small = folders[0] / "train.arrow"
    tables.write_rows(small, schema, tables.rows(text / "train.arrow"))
    assert tables.count_batches(small) == 8
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, script, *folders], capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("begins")) == (0, 1), done.stderr
    one, several = ((folder / "train.arrow").read_bytes() for folder in folders[1:])
    assert one == several


def test_texts_and_treebanks_stand_side_by_side_and_keep_their_parts(tmp_path, text):
    found = made(tmp_path / "out", text)
    first, second = found[:2]
    assert (first["words"], first["part"]) == (["du"], "arbres")
    assert second["words"] == ["l'", "arbre", "n°", "1", "du", "parc", "."]
    assert second["part"] == "texte"
    syntactic = made(tmp_path / "syntactic", text, view="syntactic", lowercase=False)
    assert syntactic[3]["words"] == ["de", "le"]
    assert syntactic[4]["words"][-2] == "Parc"


def test_the_commonest_spelling_is_kept_and_small_letters_where_it_is_a_tie(tmp_path):
    counts = Counter({"Paris": 3, "paris": 1, "le": 5, "Le": 5, "LE": 1, "SNCF": 1})
    save_written(tmp_path, counts)
    found = pd.Series(["le", "paris", "sncf", "lyon"]).map(read_written(tmp_path))
    assert found.tolist()[:3] == ["le", "Paris", "SNCF"]
    assert pd.isna(found[3])


def test_only_the_training_text_says_how_words_are_written(tiny_run, tmp_path):
    sentences = tiny_run.artefacts["ll-rnn", "corpus"].folder
    shouted = tmp_path / "corpus"
    shouted.mkdir()
    for path in sentences.glob("*.arrow"):
        kept = tables.rows(path)
        if path.stem != "train":
            kept = (row | {"text": row["text"].upper()} for row in kept)
        tables.write_rows(shouted / path.name, corpus.SCHEMA, kept)
    (tmp_path / "out").mkdir()
    tokenise.compute(TokeniseParams(), {"corpus": shouted}, tmp_path / "out")
    before = tiny_run.artefacts["ll-rnn", "tokenise"].folder / WRITTEN
    assert (tmp_path / "out" / WRITTEN).read_bytes() == before.read_bytes()


TABLE = "form\tlemma\tupos\tfeats\nchat\tchat\tNOUN\tGender=Masc\nchien\tchien\tNOM\t_\n"


def analysed(tmp_path, **overrides):
    (tmp_path / "mine.tsv").write_text(TABLE, encoding="utf-8")
    chain = f"[tiny, {tmp_path / 'mine.tsv'}]"
    keys = {"analyse.lexicon": chain} | overrides
    return accord.run("tiny", set=keys, until="analyse", runs=tmp_path / "runs")


@pytest.mark.slow
def test_a_bad_row_is_left_out_and_named(tmp_path, capsys):
    analysed(tmp_path)
    said = capsys.readouterr().err
    assert "1 row left out: unknown upos 'NOM'; " in said
    assert "mine.tsv:3" in said


@pytest.mark.slow
def test_a_text_whose_words_no_lexicon_has_is_doubted(tmp_path, capsys):
    analysed(tmp_path)
    assert "Is the text French?" not in capsys.readouterr().err
    english = tmp_path / "english.txt"
    english.write_text("".join(f"We walk {n} miles with our friends.\n" for n in range(30)))
    analysed(tmp_path, **{"corpus.source": str(english)})
    said = capsys.readouterr().err
    assert "Is the text French?" in said
    assert "corpus: 3 test sentences: too few to compare models" in said


def test_strict_stops_at_it(tmp_path):
    with pytest.raises(ValueError, match=r"mine\.tsv.*3.*unknown upos 'NOM'"):
        analysed(tmp_path, **{"analyse.strict": True})


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


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_arrays_have_a_number_for_each_word_and_each_end(tiny_run, split):
    made = {name: tiny_run.artefacts["rnn", name].folder for name in ("tokenise", "encode")}
    texts = [row["words"] for row in rows(made["tokenise"] / f"{split}.arrow")]
    training = {word for row in rows(made["tokenise"] / "train.arrow") for word in row["words"]}
    names = ("ids", "lengths", "unseen", "form")
    ids, lengths, unseen, form = (np.load(made["encode"] / f"{split}.{n}.npy") for n in names)
    assert lengths.tolist() == [len(words) + 1 for words in texts]
    ends = np.cumsum(lengths) - 1
    assert np.flatnonzero(ids == END_ID).tolist() == ends.tolist()
    written = [word for words in texts for word in (*words, None)]
    assert unseen.tolist() == [word not in training and word is not None for word in written]
    assert unseen.any() == (split != "train")
    forms = json.loads((made["encode"] / f"{split}.forms.json").read_text(encoding="utf-8"))
    assert [None if at < 0 else forms[at] for at in form] == written
    sizes = json.loads((made["encode"] / "about.json").read_text())[split]
    assert sizes == {
        "sentences": len(texts),
        "words": sum(map(len, texts)),
        "characters": sum(len(word) + 1 for words in texts for word in words),
    }


def test_the_ids_are_rows_of_the_table_of_words(tiny_run):
    made = {n: tiny_run.artefacts["rnn", n].folder for n in ("analyse", "tokenise", "encode")}
    forms = pd.read_parquet(made["analyse"] / "types.parquet")["form"]
    ids = np.load(made["encode"] / "valid.ids.npy")
    words = [word for row in rows(made["tokenise"] / "valid.arrow") for word in row["words"]]
    known = [place for place, word in enumerate(words) if word in {*forms}]
    read = forms[ids[ids != END_ID]].to_numpy()
    assert len(known) > len(words) / 2
    assert read[known].tolist() == [words[place] for place in known]


# The preset `default`, its models as they are, on the small text and lexicon of Accord's own.
SMALL = {
    "corpus.source": "tiny",
    "corpus.limit": "null",
    "analyse.lexicon": "[closed, tiny, guesser]",
    "corpus.test": 0.1,
}


@pytest.fixture(scope="module")
def masses(tmp_path_factory):
    """b of the models of `default`, and that of the RNN where signatures share."""
    runs = tmp_path_factory.mktemp("b")
    shared = {**SMALL, "rnn.background.share": "signatures"}
    found = {}
    for name, changes in (("default", SMALL), ("signatures", shared)):
        run = accord.run("default", set=changes, until="background", runs=runs, name=name)
        for model in ("rnn", "ll-rnn", "ll-rnn-lexicon-in-b"):
            folder = run.artefacts[model, "background"].folder
            found[name, model] = np.load(folder / "b.npy")
    return found


def test_the_rnn_and_the_ll_rnn_of_default_have_the_same_b(masses):
    np.testing.assert_array_equal(masses["default", "rnn"], masses["default", "ll-rnn"])


def test_the_row_with_the_lexicon_in_b_has_another_b(masses):
    with_lexicon, without = masses["default", "ll-rnn-lexicon-in-b"], masses["default", "ll-rnn"]
    assert with_lexicon.shape == without.shape
    assert not np.allclose(with_lexicon, without)
    assert with_lexicon.sum() == pytest.approx(without.sum()) == pytest.approx(1)


def test_words_of_one_feature_each_share_alike_either_way(masses):
    np.testing.assert_array_equal(masses["default", "rnn"], masses["signatures", "rnn"])


def test_words_seen_once_leave_their_mass_to_all_unseen_ones():
    counts, nothing = np.array([5.0, 2.0, 1.0, 1.0, 0.0, 0.0]), np.zeros(6, int)
    group = groups_of("words", counts, np.array([0, 0, 1, 2, 1, 2]), nothing)
    assert group.tolist() == [1, 2, 0, 0, 0, 0]
    mass = discounted(counts, group, np.ones(6))
    assert mass[:2] * counts.sum() == pytest.approx([5, 2])
    assert mass[4] == mass[5] > 0


PREPARED = ("tokenise", "analyse", "featurise", "background")


def prepare(corpus: Path, out: Path, model: str) -> dict[str, bytes]:
    """The bytes of every file that the stages from tokenise to background make, test aside."""
    sections = load_config("tiny").models[model]
    folders = {"corpus": corpus}
    for name in PREPARED:
        folders[name] = out / name
        folders[name].mkdir(parents=True)
        STAGES[name].module.compute(sections[name], folders, folders[name])
    made = [path for name in PREPARED for path in folders[name].iterdir() if path.is_file()]
    return {p.parent.name + "/" + p.name: p.read_bytes() for p in made if p.stem != "test"}


@pytest.mark.parametrize("model", ["rnn", "ll-rnn"])
def test_deleting_the_tests_text_changes_nothing_that_is_learned(tmp_path, tiny_run, model):
    whole = tiny_run.artefacts[model, "corpus"].folder
    without = tmp_path / "corpus"
    without.mkdir()
    for path in whole.glob("*.arrow"):
        kept = list(rows(path))
        if path.stem == "test":
            kept = [row | {"text": "Rien."} for row in kept[:1]]
        write_rows(without / path.name, SCHEMA, kept)
    before = prepare(whole, tmp_path / "whole", model)
    after = prepare(without, tmp_path / "without", model)
    assert before == after
    assert {"featurise/phi.npz", "background/b.npy", "analyse/types.parquet"} <= set(before)


def test_no_sentence_stands_in_two_splits(tiny_run):
    corpus = tiny_run.artefacts["rnn", "corpus"].folder
    texts = {
        path.stem: {row["text"].casefold() for row in rows(path)} for path in corpus.glob("*.arrow")
    }
    assert set(texts) == {"train", "valid", "test"}
    assert sum(map(len, texts.values())) == len(set().union(*texts.values()))


def test_stages_read_earlier_stages():
    for place, stage in enumerate(STAGES.values()):
        assert stage.inputs.keys() <= {*[*STAGES][:place]}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_what_a_model_takes_from_a_stage_or_an_audit_reads_is_among_its_outputs(stage):
    audited = (name for files in stage.audited.values() for name in files)
    for name in (*COPIED.get(stage.name, ()), *audited):
        assert any(fnmatch(output, name) or fnmatch(name, output) for output in stage.outputs)


def test_every_file_of_a_run_is_opened_by_the_tools_of_its_format(tiny_run):
    opened = {
        ".arrow": lambda path: Dataset.from_file(str(path)).to_pandas(),
        ".parquet": pd.read_parquet,
        ".csv": pd.read_csv,
        ".json": lambda path: json.loads(path.read_text(encoding="utf-8")),
        ".npy": lambda path: np.load(path, mmap_mode="r"),
        ".npz": lambda path: dict(np.load(path)),
        ".safetensors": load_file,
    }
    for (model, stage), artefact in tiny_run.artefacts.items():
        if stage == "report":  # pages and drawings too
            continue
        if stage in ("corpus", "tokenise"):
            train = load_from_disk(str(artefact.folder))["train"]
            assert train[:] == Dataset.from_file(str(artefact.folder / "train.arrow"))[:]
        for name in artefact.meta["files"]:
            path = artefact.folder / name
            assert len(opened[path.suffix](path)), (model, stage, name)


def test_phi_is_a_sparse_matrix_of_scipy_with_a_row_for_each_signature(tiny_run):
    folder = tiny_run.artefacts["ll-rnn", "featurise"].folder
    phi, names = load_npz(folder / "phi.npz"), json.loads((folder / "names.json").read_text())
    own = Features.load(folder / "phi.npz")
    assert phi.shape == (own.signature_count, len(names))
    expected = csr_matrix((own.values, own.indices, own.indptr), phi.shape)
    assert (phi != expected).nnz == 0
    types = pd.read_parquet(tiny_run.artefacts["ll-rnn", "analyse"].folder / "types.parquet")
    signature = np.load(folder / "phi.npz")["signature"]
    chat = phi[signature[types["form"] == "chat"][0]]
    assert {"pos=NOUN", "Gender=Masc", "Number=Sing"} <= {names[place] for place in chat.indices}


@pytest.mark.parametrize("fault", [{"format": b"csc"}, {"shape": [1, 3, 3]}, {"shape": [9, 6]}])
def test_a_phi_of_another_form_is_refused(tmp_path, fault):
    Features.one_hot(6).save(tmp_path / "phi.npz")
    arrays = dict(np.load(tmp_path / "phi.npz"))
    np.savez(tmp_path / "phi.npz", **(arrays | {key: np.array(v) for key, v in fault.items()}))
    with pytest.raises(ValueError, match=r"phi\.npz: expected Φ in the format csr"):
        Features.load(tmp_path / "phi.npz")
