"""A run from Python: tables of its stages agree with each other and with its figures."""

import numpy as np
import pandas as pd
import pytest
from datasets import DatasetDict

import accord
from accord.errors import AccordError, NotFoundError


@pytest.fixture(scope="module")
def opened(tiny_run):
    return accord.open_run(tiny_run.folder)


def test_a_run_names_its_models_with_stages_and_perplexities(opened, tiny_run):
    figures = opened.results()
    assert opened.models == ["rnn", "ll-rnn"]
    for name, perplexity in figures["perplexity"].items():
        assert f"  {name:6}  done up to evaluate, perplexity {perplexity:,.1f}" in repr(tiny_run)
    assert opened.results("train")["parameters"].gt(0).all()
    with pytest.raises(AccordError, match="no figures of 'tests'; the nearest is 'test'"):
        opened.results("tests")


def test_tokens_are_the_words_of_the_sentences_with_their_analyses(opened):
    sentences, tokens = opened.sentences("valid"), opened.tokens("valid").to_pandas()
    assert tokens["sentence"].nunique() == len(sentences)
    first = tokens[tokens["sentence"] == 0]["form"].str.cat(sep=" ").replace("' ", "'")
    assert first.removesuffix(" .").lower() == sentences[0]["text"].removesuffix(".").lower()
    analyses = opened.analyses()
    assert np.allclose(analyses.groupby("form")["share"].sum(), 1)
    for row in tokens[tokens["analyses"] > 0].head(50).itertuples():
        of_form = analyses[analyses["form"] == row.form]
        assert len(of_form) == row.analyses
        assert {*of_form["upos"]} == {*row.upos.split("|")}
        genders = row.gender.split("|") if isinstance(row.gender, str) else []
        assert {*of_form["gender"].dropna()} == {*genders}


def test_phi_of_a_word_is_its_row_and_any_string_has_one(opened):
    phi = opened.phi()
    assert phi.matrix.shape == (len(phi.words), len(phi.features))
    for word in ("fille", "chats", "."):
        place = phi.words.index(word)
        row = phi.matrix[place]
        names = [phi.features[feature] for feature in row.indices]
        assert opened.phi(word) == dict(zip(names, row.data, strict=True))
        same = np.flatnonzero(phi.signature == phi.signature[place])
        assert (phi.matrix[same] != phi.matrix[[place] * len(same)]).nnz == 0
    assert opened.phi("petites")["Gender=Fem"] == 1
    assert opened.phi("isloise") == opened.phi("<unk>")


def test_scores_sum_to_the_figures_of_the_run(opened):
    scores, figures = opened.scores(), opened.results()
    for model in opened.models:
        assert scores[model].mean() == pytest.approx(figures.loc[model, "nats per word"], rel=1e-5)
    words = scores[scores["form"] != "</s>"]
    assert words["form"].tolist() == opened.tokens("test")["form"]
    assert ((words["count"] > 0) == words["seen"]).all()
    curves = opened.curves()
    assert {*curves["model"]} == {*opened.models} and curves["valid_nats"].notna().all()


def test_links_lead_to_the_folder_of_each_stage(opened, tiny_run):
    for model in opened.models:
        link = opened.folder / "stages" / model / "featurise"
        assert link.is_symlink() and link.resolve() == opened.stage("featurise", model).resolve()


def test_a_closed_run_that_stopped_early_answers_as_far_as_it_came(run_once, capfd):
    settings = {"analyse.protocol": "closed"}
    run = run_once("closed", set=settings, until="featurise")
    assert "wrote " in capfd.readouterr().err
    run_once("closed", set=settings, until="featurise")
    assert "all stages of 'tiny' up to featurise are done" in capfd.readouterr().err
    assert "done up to featurise\n" in f"{run}\n"
    assert run.phi("chat")["form=chat"] == 1
    assert run.phi("isloise") == {"@notTop": 1}
    with pytest.raises(NotFoundError, match="train"):
        run.curves()
    with pytest.raises(AccordError, match="no model 'rn'; the nearest is 'rnn'"):
        run.tokens(model="rn")


def test_a_data_set_in_memory_is_trained_on(opened, tmp_path):
    splits = {split: opened.sentences(split).select_columns("text") for split in ("train", "valid")}
    splits["test"] = opened.sentences("test").select_columns("text")
    settings = {"set": {"corpus.valid": 0}, "until": "tokenise", "runs": tmp_path}
    run = accord.run("tiny", sentences=DatasetDict(splits), **settings)
    for split, sentences in splits.items():
        assert run.sentences(split)["text"] == sentences["text"]


@pytest.mark.slow
def test_phi_by_the_bundled_model():
    phi = accord.phi("petites")
    assert {"Gender=Fem", "Number=Plur", "pos=ADJ"} <= phi.keys()
    assert pd.Series(accord.phi("isloise"))["source=guesser"] == 1
