"""What a network learns from besides its text: a text read before, and teachers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from query_cases import scored

import accord
from accord import load, run
from accord.models.background import NGramBackground, Unigram
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.pipeline.data.encoded import read_text
from accord.pipeline.model.comparison import read_scores
from accord.pipeline.model.folder import ModelFolder
from accord.pipeline.model.network import load_trained

SENTENCE = "Pomme une mange fille petite la."  # which nothing else would teach
ONE_MODEL = {"models": ["ll-rnn"], "until": "evaluate"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, slow):
    folder = tmp_path_factory.mktemp("pretraining")
    (folder / "pretraining.txt").write_text(f"{SENTENCE}\n" * 2000, encoding="utf-8")
    return folder


def trained(folder, *changes: str):
    settings = [f"corpus.pretraining={folder / 'pretraining.txt'}", "train.epochs=1"]
    return run("tiny", set=[*settings, *changes], **ONE_MODEL, runs=folder / "runs")


@pytest.mark.parametrize("use", ["initialise", "background"])
def test_what_the_text_beside_says_is_learned(folder, use):
    words = {}
    for pretraining in ("none", use):
        phases = {} if pretraining == "none" else {"pretraining": {"use": use, "epochs": 1}}
        this = trained(folder, "train.output={background_gate: true}", f"train.phases={phases}")
        scores = read_scores(this.artefacts["ll-rnn", "evaluate"].folder)
        assert set(scores["split"]) == {"train", "valid", "test"}
        network = this.artefacts["ll-rnn", "train"].folder
        assert not (network / "pretraining").exists()
        curves = [network / "pretraining.csv", network / "curve.csv"][pretraining == "none" :]
        seconds = sum(float(pd.read_csv(curve)["seconds"].sum()) for curve in curves)
        figures = scores.set_index(["split", "metric"])["value"]
        assert figures["train", "seconds"] == pytest.approx(seconds)
        scorer = load(this.folder, "ll-rnn")
        words[pretraining] = sum(word.log_p for word in scorer.score(SENTENCE))
    assert words[use] > words["none"]


def closed(folder, kind: str, text: str, *changes: str):
    """Train a model of a closed vocabulary after such a text."""
    (folder / "pretraining.txt").write_text(f"{text}\n" * 50)
    settings = ["analyse.protocol=closed", f"background.kind={kind}"]
    return trained(folder, *settings, "train.phases={pretraining: {epochs: 1}}", *changes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unigram", "ngram"])
def test_words_of_the_text_beside_alone_have_mass_while_it_is_read_and_not_after(tmp_path, kind):
    """A closed vocabulary is the corpus's own; the words of suites are known too."""
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "simple.txt").write_text("True\telles rient .\nFalse\telles rit .\n")
    suites = f"analyse.suites=[{tmp_path / 'suite'}]"
    this = closed(tmp_path, kind, "Le zébu dort et elles rient.", suites)
    types = pd.read_parquet(this.artefacts["ll-rnn", "analyse"].folder / "types.parquet")
    prepared = this.artefacts["ll-rnn", "background"].folder
    b, b_before = np.load(prepared / "b.npy"), np.load(prepared / "b.pretraining.npy")
    foreign, of_suite = (types.index[types["form"] == form][0] for form in ("zébu", "rient"))
    assert types["count"][[foreign, of_suite]].tolist() == [0, 0]
    assert b[foreign] == 0 < b[of_suite]
    assert (b_before > 0).all()
    assert b_before[foreign] > b_before[types["count"] == 0].min()
    with pytest.raises(ValueError, match="zébu"):
        load(this.folder, "ll-rnn").score("Le zébu dort .")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unigram", "ngram"])
def test_signatures_without_mass_are_one_and_change_nothing(tmp_path, kind):
    """Those of tenses and persons that the text beside has, where the corpus has none."""
    this = closed(tmp_path, kind, "Vous dormiriez et nous fûmes, dormis-tu ?")
    inputs = {stage: artefact.folder for (_, stage), artefact in this.artefacts.items()}
    model = load_trained(ModelFolder(inputs["train"]))
    whole = Features.load(inputs["featurise"] / "phi.npz")
    b = np.load(inputs["background"] / "b.npy")
    has_mass = np.bincount(whole.signature, b) > 0
    assert model.output.product.signature_count == has_mass.sum() + 1 < whole.signature_count
    ngrams = getattr(model.output.background, "ngrams", None)
    background = Unigram(whole, b) if ngrams is None else NGramBackground(whole, ngrams)
    all_apart = LanguageModel(model.recipe, whole, background)
    all_apart.load_state_dict(model.state_dict())
    text = read_text(inputs["encode"], "valid")
    np.testing.assert_allclose(scored(model, text), scored(all_apart, text), atol=1e-5)


def test_ngrams_may_be_counted_on_the_text_beside(folder):
    words = []
    for pretraining in ("false", "true"):
        ngrams = ["train.output=background", "background.kind=ngram"]
        this = trained(folder, *ngrams, f"background.pretraining={pretraining}")
        words.append(sum(word.log_p for word in load(this.folder, "ll-rnn").score(SENTENCE)))
    assert words[1] > words[0]


ONE_EPOCH = ["train.epochs=1", "analyse.protocol=closed"]


@pytest.fixture(scope="module")
def taught_by(tmp_path_factory, slow):
    """A folder of runs, one of which has two teachers that each left half of the text out."""
    runs = tmp_path_factory.mktemp("runs")
    for fold in (1, 2):
        changes = [*ONE_EPOCH, "train.folds=2", f"train.fold={fold}"]
        chosen = {"models": ["ll-rnn"], "name": f"fold-{fold}", "until": "evaluate"}
        accord.run("tiny", set=changes, **chosen, runs=runs)
    return runs


def changes(runs: Path) -> list[str]:
    return [
        *ONE_EPOCH,
        f"train.teachers={{models: [{runs / 'fold-1'}, {runs / 'fold-2' / 'll-rnn'}]}}",
    ]


def test_a_model_is_taught_by_those_of_runs_and_known_by_their_files(taught_by, capsys):
    chosen = {"models": ["ll-rnn"], "until": "evaluate", "runs": taught_by}
    this = accord.run("tiny", set=changes(taught_by), name="student", **chosen)
    train = this.artefacts["ll-rnn", "train"]
    recipe = ModelFolder(train.folder).recipe
    assert recipe.teachers.models == ("fold-1", "ll-rnn")
    assert sum(name.endswith("config.json") for name in train.meta["data"]) == 2
    plain = accord.run("tiny", set=ONE_EPOCH, name="plain", **chosen)
    steps = [
        (run.artefacts["ll-rnn", "train"].folder / "steps.csv").read_text() for run in (this, plain)
    ]
    assert steps[0] != steps[1]
    assert accord.load(this.folder).score("Le chat dort.")
