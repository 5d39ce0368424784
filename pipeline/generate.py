"""New French sentences from a trained model, with the features of each word beside it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch

from corpora.detokenise import detokenise
from models.constraint import constrained
from models.generation import Generated, Sampling, beam, sample
from models.recipe import Recipe
from pipeline.constraints import automaton, parse
from pipeline.named_features import NamedFeatures
from pipeline.scorer import Scorer
from pipeline.vocabulary import END_ID

AS_IT_IS = Sampling()
LONGEST = 50  # words; few sentences are longer


@dataclass(frozen=True)
class NewWord:
    """A generated word, its log p in nats, and the features that it shares with others."""

    form: str
    log_p: float
    features: tuple[str, ...]


@dataclass(frozen=True)
class NewSentence:
    text: str  # with its start, as French is written
    words: tuple[NewWord, ...]  # those that were generated
    log_p: float  # of these and of the end
    ended: bool  # or cut because it was too long


class Generator:
    """Generates with one model under one set of constraints, as `pipeline.constraints` has them."""

    def __init__(self, scorer: Scorer, start: str = "", constraints: Sequence[str] = ()):
        self.start = scorer.words(start) if start else []
        self.start_ids = [scorer.id_of(word) for word in self.start]
        self.forms = scorer.vocabulary.forms
        self.features = NamedFeatures(scorer.artefacts["featurise"])
        analyse = scorer.artefacts["analyse"]
        held_to = automaton(
            parse(constraints),
            len(self.start),
            pd.read_parquet(analyse / "types.parquet"),
            pd.read_parquet(analyse / "analyses.parquet"),
        )
        recipe = Recipe(**json.loads((scorer.artefacts["train"] / "recipe.json").read_text()))
        self.model = constrained(scorer.model, recipe, self.features.phi, held_to)

    def sample(
        self, count: int = 10, sampling: Sampling = AS_IT_IS, seed: int = 1
    ) -> list[NewSentence]:
        """Sentences drawn by chance."""
        generator = torch.Generator(self.model.embedding.weight.device).manual_seed(seed)
        drawn = sample(self.model, self.start_ids, count, sampling, generator, LONGEST)
        return [self._sentence(each) for each in drawn]

    def likeliest(self, count: int = 10, width: int = 10) -> list[NewSentence]:
        """The likeliest sentences that a beam of that width finds, the likeliest first."""
        found = beam(self.model, self.start_ids, width, LONGEST)
        return [self._sentence(each) for each in found[:count]]

    def _sentence(self, generated: Generated) -> NewSentence:
        ended = generated.words[-1] == END_ID
        words = tuple(
            NewWord(self.forms[word], log_p, tuple(self.features.shared(word)))
            for word, log_p in zip(*generated, strict=True)
            if word != END_ID
        )
        text = detokenise([*self.start, *(word.form for word in words)])
        return NewSentence(text, words, sum(generated.log_p), ended)
