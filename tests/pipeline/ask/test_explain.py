"""Explanations of a trained model: exact sums, also of word vectors; a page without scripts."""

import math
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import accord
from accord import load, run
from accord.pipeline.ask.explain import MEANING, SPELLED, Explainer, page, split, telling_features
from accord.pipeline.ask.scorer import bundled
from accord.pipeline.base.names import END

BEGINNING = "La petite fille est très …"


@pytest.fixture(scope="module", params=["rnn", "ll-rnn"])
def explainer(tiny_run, request) -> Explainer:
    return Explainer(load(tiny_run.folder, request.param))


def remainders(choices) -> pd.Series:
    """What the terms of each word leave of its log p."""
    table = split(choices).fillna(0)
    return table.drop(index="log p").sum() - table.loc["log p"]


@pytest.mark.parametrize("text", ["…", BEGINNING, "Les chats que le xylophoniste voit"])
def test_the_terms_sum_to_log_p(explainer, text):
    place = explainer.next_word(text, ["grande", "grand", "dorment", "brachycéphale", END], 50)
    assert len(place.likeliest) == 50
    assert remainders([*place.queried, *place.likeliest]).abs().max() < 1e-5


def test_log_p_is_what_the_scorer_says(explainer):
    text = "La petite xylophoniste mange une pomme."
    positions = explainer.sentence(explainer.scorer.words(text))
    scored = explainer.scorer.score(text)
    assert [place.queried[0].word for place in positions] == [word.form for word in scored]
    assert [place.queried[0].log_p for place in positions] == pytest.approx(
        [word.log_p for word in scored], abs=1e-4
    )
    assert [not place.queried[0].is_known for place in positions] == [
        word.spelled for word in scored
    ]


@pytest.fixture(scope="module")
def rare_and_frequent() -> list[str]:
    """Known forms of the bundled model by chance: most are rare; and one that is not known."""
    drawn = np.random.default_rng(41).choice([*bundled().vocabulary.known], 300, replace=False)
    return [*dict.fromkeys(["galeriez", "fille", "brachycéphalosaure", *drawn.tolist()])]


@pytest.mark.slow
def test_log_p_of_rare_words_is_what_score_says_and_all_of_it_is_explained(rare_and_frequent):
    """Any string can be spelled, known ones too: of rare ones that is most of what they have."""
    words = [["la", "petite", word] for word in rare_and_frequent]
    scored, _ = bundled().score_encoded(*bundled().encoded(words))
    log_p = pd.Series(scored[2::4], rare_and_frequent)
    table = bundled().explain("la petite", *rare_and_frequent)
    assert (table.loc["log p"] - log_p).abs().max() < 1e-4
    assert (table.drop(index="log p").sum() - log_p).abs().max() < 1e-4
    assert table.loc[SPELLED, "galeriez"] > 1  # nats: two thirds of its p and more
    assert table.loc[SPELLED, "fille"] == pytest.approx(0, abs=1e-4)
    assert (table.loc[SPELLED] > 0.1).mean() > 0.1


def test_all_words_together_have_probability_one_and_the_likeliest_come_first(explainer):
    """What spelling adds to known words is a part of what their classes have."""
    every = explainer.next_word(BEGINNING, most=len(explainer.forms)).likeliest
    own = sum(math.exp(choice.log_p - choice.spelling) for choice in every)
    assert own == pytest.approx(1, abs=1e-4)
    assert all(choice.spelling >= 0 for choice in every)
    assert [choice.log_p for choice in every] == sorted((c.log_p for c in every), reverse=True)


def test_weights_along_the_sentence_are_those_of_the_terms(tiny_run):
    explainer = Explainer(load(tiny_run.folder, "ll-rnn"))
    place = explainer.next_word(BEGINNING, ["grande", "grand"])
    followed = telling_features(place.queried)
    assert {"Gender=Fem", "Gender=Masc"} <= set(followed)
    weights = explainer.weights(BEGINNING, followed)
    assert list(weights.index) == ["(start)", "la", "petite", "fille", "est", "très"]
    for choice in place.queried:
        for term in choice.terms:
            if term.feature in followed:
                assert weights[term.feature].iloc[-1] == pytest.approx(term.weight, abs=1e-6)
    with pytest.raises(ValueError, match="'Gender=Fm'; the nearest is 'Gender=Fem'"):
        explainer.weights(BEGINNING, ["Gender=Fm"])


class Tags(HTMLParser):
    """Every tag with its attributes; a tag left open or closed twice is an error."""

    def __init__(self, text: str):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in {"meta", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_has_a_labelled_button_for_each_word_and_needs_nothing_from_outside(explainer):
    sentences = [["les", "chats", "<b>", "."], ["elle", "est", "partie"]]
    tags = Tags(page([explainer.sentence(words) for words in sentences])).found
    buttons = [attributes for tag, attributes in tags if tag == "input"]
    labels = [attributes["for"] for tag, attributes in tags if tag == "label"]
    assert [button["id"] for button in buttons] == labels
    assert len(set(labels)) == len(labels) == 5 + 4, "the end of a sentence is a place too"
    assert len({button["name"] for button in buttons if "checked" in button}) == 2
    assert not {"script", "link", "img", "b"} & {tag for tag, _ in tags}
    assert not any({"src", "href"} & set(attributes) for _, attributes in tags)


BEFORE_A_NOUN = "La petite fille mange une …"
SENTENCE = "La petite fille mange une xylophone."


@pytest.fixture(scope="module")
def vectors(tiny_run, tmp_path_factory):
    """A vector for nine in ten of the words of the tiny corpus."""
    types = pd.read_parquet(tiny_run.artefacts["ll-rnn", "analyse"].folder / "types.parquet")
    forms = types["form"].to_numpy(dtype=str)
    generator = np.random.default_rng(1)
    chosen = generator.random(len(forms)) < 0.9
    path = tmp_path_factory.mktemp("vectors") / "mine.npz"
    rows = generator.normal(size=(chosen.sum(), 12)).astype(np.float32)
    np.savez(path, forms=forms[chosen], vectors=rows)
    return path


@pytest.fixture(scope="module")
def runs(vectors, tmp_path_factory):
    """A model that reads and predicts by vectors, one that only predicts, one that only reads."""
    folder = tmp_path_factory.mktemp("runs")
    made = {}
    morphology = ["form", "pos", "gender", "number"]
    sides = {"both": {}, "predicted": {"read": morphology}, "read": {"predict": morphology}}
    for name, side in sides.items():
        changes = {
            "featurise.vectors": f"{{source: {vectors}, dimensions: 6}}",
            "train.epochs": 2,
            "train.vector_dropout": 0.2,
        }
        changes |= {f"featurise.{key}": named for key, named in side.items()}
        chosen = {"models": ["ll-rnn"], "until": "evaluate", "name": name}
        made[name] = run("tiny", set=changes, **chosen, runs=folder)
    return made


@pytest.mark.parametrize("name", ["both", "predicted"])
def test_meaning_is_one_term_of_the_exact_sum(runs, name):
    explainer = Explainer(load(runs[name].folder))
    place = explainer.next_word(BEFORE_A_NOUN, ["pomme", "chat", "xylophone"], 20)
    table = split([*place.queried, *place.likeliest]).fillna(0)
    assert table.loc[MEANING].abs().max() > 0
    assert (table.drop(index="log p").sum() - table.loc["log p"]).abs().max() < 1e-5


def test_what_is_only_read_is_no_term_of_the_sum(runs):
    explainer = Explainer(load(runs["read"].folder))
    assert explainer.scorer.parts.psi.dimensions == 6
    assert explainer.features.phi.dimensions == 0
    place = explainer.next_word(BEFORE_A_NOUN, ["pomme", "chat"], 20)
    table = split([*place.queried, *place.likeliest]).fillna(0)
    assert MEANING not in table.index
    assert (table.drop(index="log p").sum() - table.loc["log p"]).abs().max() < 1e-5


@pytest.mark.parametrize("name", ["both", "predicted", "read"])
def test_a_compact_export_keeps_the_vectors_and_what_is_read(runs, name, tmp_path):
    folder = accord.export(runs[name].folder, "ll-rnn", tmp_path / "small", compact=True)
    small, whole = load(folder), load(runs[name].folder)
    assert (small.parts.psi is None) == (name == "both")
    ours, theirs = ([word.log_p for word in each.score(SENTENCE)] for each in (small, whole))
    assert ours == pytest.approx(theirs, abs=0.02)
    assert bool(Explainer(small).next_word(BEFORE_A_NOUN).sought) == (name != "read")
