"""Experts by configuration: Accord's own and one that a package brings, trained and explained."""

import pytest
from plug_in_cases import install

from accord import load, run
from accord.pipeline.ask.explain import Explainer, split

ECHO = '''
import numpy as np
import torch

from accord.models.data import NO_WORD, preceding


class Echo:
    """The feature is high for the word that was just said, and for no other."""

    def __init__(
        self,
        features,
        *,
        height: float = 2.0,  # what its value is
    ):
        self.height = height

    def contexts(self, sentences):
        return preceding(sentences, 1, NO_WORD)

    def named(self, kept):
        return kept, torch.full(kept.shape, self.height)
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expert", "named"),
    [("copy", ["la", "petite", "fille"]), ("{kind: echo, height: 3.0}", ["fille"])],
)
def test_what_the_expert_gives_is_a_term_of_the_words_it_names(
    tmp_path, monkeypatch, expert, named
):
    monkeypatch.syspath_prepend(tmp_path)
    install(
        tmp_path, "echo", {"echo_expert": ECHO}, {"accord.experts": ["echo = echo_expert:Echo"]}
    )
    changes = {"train.output": f"{{kind: expert, expert: {expert}}}", "train.epochs": 2}
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    made = run("tiny", set=changes, **chosen, runs=tmp_path / "runs")
    explainer = Explainer(load(made.folder, "ll-rnn"))
    asked = ["la", "petite", "fille", "pomme"]
    place = explainer.next_word("La petite fille …", asked, most=20)
    table = split(place.queried)
    given = table.loc["expert"]
    assert given.dropna().index.tolist() == named and given[named].abs().min() > 0
    remainder = table.fillna(0).drop(index="log p").sum() - table.loc["log p"]
    assert remainder.abs().max() < 1e-5
