"""New French sentences from a trained model, with the features of each word beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from corpora.detokenise import detokenise
from models.network.constraint import constrained
from models.network.generation import Generated, Sampling, beam, sample
from models.outputs.log_linear import log_linear_of
from pipeline.inference.constraints import LONGEST, automaton, parse
from pipeline.inference.pattern import pattern_automaton
from pipeline.inference.scorer import Scorer
from pipeline.prepared.named_features import NamedFeatures
from pipeline.prepared.special_words import END_ID, UNKNOWN_ID, is_unknown

AS_IT_IS = Sampling()
SEEDS = 1 << 64  # so many there are


@dataclass(frozen=True)
class NewWord:
    """A generated word, its log p in nats, and the part of speech and features that φ gives it.

    Of a spelled word: log p of its class of unknown words and of these letters in that class.
    """

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
    """Generates with one model under one set of constraints (pipeline.inference.constraints)."""

    def __init__(
        self,
        scorer: Scorer,
        start: str = "",
        constraints: Sequence[str] = (),
        spelled: bool = False,
        pattern: str | None = None,
    ):
        """With `spelled`, words that are not known may come too, written letter by letter.

        A `pattern` (pipeline.inference.pattern) stands in the place of constraints.
        """
        if pattern is not None and constraints:
            raise ValueError("expected a pattern of whole sentences or constraints, found both")
        log_linear_of(scorer.model)  # or an error that says what it has instead
        if spelled and not scorer.is_open:
            raise ValueError("expected a model that spells words; this one's vocabulary is closed")
        self.spelling = scorer.spelling
        self.start = scorer.words(start) if start else []
        self.start_ids = [scorer.id_of(word) for word in self.start]
        self.forms = scorer.vocabulary.forms
        self.features = NamedFeatures(scorer.artefacts["featurise"])
        analyse = scorer.artefacts["analyse"]
        types, analyses = (
            pd.read_parquet(analyse / f"{name}.parquet") for name in ("types", "analyses")
        )
        if pattern is not None:
            held_to = pattern_automaton(
                pattern, len(self.start), types, analyses, scorer.as_read, spelled
            )
        else:
            parsed = [
                replace(each, words=frozenset(scorer.as_read(each.words)))
                for each in parse(constraints)
            ]
            held_to = automaton(parsed, len(self.start), types, analyses, spelled)
        self.model = constrained(scorer.model, self.features.phi, held_to)

    def sample(
        self, count: int = 10, sampling: Sampling = AS_IT_IS, seed: int = 1
    ) -> list[NewSentence]:
        """Sentences drawn by chance."""
        if not 0 <= seed < SEEDS:
            raise ValueError(f"seed: expected a number from 0 to {SEEDS - 1}, got {seed}")
        generator = torch.Generator(self.model.embedding.weight.device).manual_seed(seed)
        drawn = sample(self.model, self.start_ids, count, sampling, generator, LONGEST)
        letters = np.random.default_rng(seed)
        return [self._sentence(each, letters) for each in drawn]

    def likeliest(self, count: int = 10, width: int = 10) -> list[NewSentence]:
        """The likeliest sentences that a beam of that width finds, the likeliest first."""
        found = beam(self.model, self.start_ids, width, LONGEST)
        return [self._sentence(each, np.random.default_rng(0)) for each in found[:count]]

    def _sentence(self, generated: Generated, letters: np.random.Generator) -> NewSentence:
        *words, end = (
            self._word(word, log_p, letters) for word, log_p in zip(*generated, strict=True)
        )
        ended = generated.words[-1] == END_ID
        shown = tuple(words if ended else [*words, end])
        text = detokenise([*self.start, *(word.form for word in shown)])
        return NewSentence(text, shown, sum(word.log_p for word in (*words, end)), ended)

    def _word(self, word: int, log_p: float, letters: np.random.Generator) -> NewWord:
        """A known word, or one of a class of unknown words, which is then spelled."""
        form = self.forms[word]
        if is_unknown(form):
            kind = word - UNKNOWN_ID
            (form,) = self.spelling.draw([kind], letters)
            log_p += float(self.spelling.log_prob([form])[0, kind])
        return NewWord(form, log_p, tuple(self.features.grammar(word)))
