"""Reinflection: a lemma and features become a form, letter by letter, with C as a sequence.

    python -m accord.zoo.reinflection lefff --lemmas 800 --epochs 8

C is the letters of the lemma and its features. The network of `train.condition: attended` writes
the form and attends to them (Dymetman & Xiao 2016, §2.1). Lemmas of the test are in no other part.
It is compared with the paradigms that a guesser's endings make: the longest known ending of a lemma
says which letters go and which come.
"""

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
import typer

from accord.lexicon.analysis import everything, load
from accord.models.background import Uniform
from accord.models.data import END, NO_WORD, Sentences
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.train import Epoch, Trainer
from accord.pipeline.base.messages import echo, say
from accord.pipeline.data.catalogue import folder_of

INFLECTED = ("ADJ", "NOUN", "VERB")
CELLS = 12  # of each lemma, at most
LONGEST = 40  # letters of a form that is written
LONGEST_ENDING = 6


class Cell(NamedTuple):
    """A place in a paradigm, and the forms that are right there."""

    lemma: str
    features: tuple[str, ...]
    forms: tuple[str, ...]


def cells_of(rows: pd.DataFrame, lemmas: int, seed: int) -> list[list[Cell]]:
    """Draw so many lemmas and return the cells of each."""
    kept = rows[rows["upos"].isin(INFLECTED) & (rows["feats"] != "")]
    kept = kept[kept["lemma"].str.isalpha() & kept["form"].str.isalpha()]
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(np.sort(kept["lemma"].unique()))[:lemmas]
    paradigms = []
    for lemma, of_lemma in kept[kept["lemma"].isin(chosen)].groupby("lemma"):
        cells = [
            Cell(lemma, (upos, *feats.split("|")), tuple(sorted({*rows_of_cell["form"]})))
            for (upos, feats), rows_of_cell in of_lemma.groupby(["upos", "feats"], observed=True)
        ]
        order = generator.permutation(len(cells))[:CELLS]
        paradigms.append([cells[place] for place in order])
    return paradigms


class EndingRules:
    """The rule of the longest ending of a lemma, for each set of features: (letters off, on)."""

    def __init__(self, cells: Iterable[Cell]):
        self.rules: dict[tuple, Counter] = defaultdict(Counter)
        for lemma, features, forms in cells:
            pairs = zip(lemma, forms[0], strict=False)
            shared = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
            rule = len(lemma) - shared, forms[0][shared:]
            for length in range(rule[0], LONGEST_ENDING + 1):  # what goes must be seen to be there
                self.rules[features, lemma[len(lemma) - length :]][rule] += 1

    def form(self, lemma: str, features: tuple[str, ...]) -> str:
        for length in range(min(LONGEST_ENDING, len(lemma)), -1, -1):
            rules = self.rules.get((features, lemma[len(lemma) - length :]))
            if rules:
                (off, on), _ = rules.most_common(1)[0]
                return lemma[: len(lemma) - off] + on
        return lemma


class Reinflection:
    """A network that writes forms by letters, with C the letters of a lemma and its features."""

    def __init__(self, cells: Sequence[Cell], recipe: Recipe):
        symbols = {s for cell in cells for s in (*cell.lemma, *cell.features, *"".join(cell.forms))}
        self.symbols = ["", *sorted(symbols)]  # the first is END
        self.number = {symbol: place for place, symbol in enumerate(self.symbols)}
        features = Features.one_hot(len(self.symbols))
        torch.manual_seed(recipe.seed)
        self.model = LanguageModel(recipe, features, Uniform(features))
        self.reach = self.model.recipe.condition["reach"]

    def text(self, cells: Sequence[Cell]) -> Sentences:
        """Return the forms as sentences of letters, with lemma and features before each."""
        ids = [[*self._known(cell.forms[0]), END] for cell in cells]
        lengths = np.array([len(letters) for letters in ids])
        return Sentences(np.concatenate(ids), lengths, previous=self.before(cells))

    def before(self, cells: Sequence[Cell]) -> np.ndarray:
        """C of each cell: (n × reach)."""
        conditions = np.full((len(cells), self.reach), NO_WORD, np.int32)
        for row, cell in zip(conditions, cells, strict=True):
            known = self._known((*cell.lemma, *cell.features))[-self.reach :]
            row[self.reach - len(known) :] = known
        return conditions

    def _known(self, symbols: Iterable[str]) -> list[int]:
        """Return the numbers of symbols; those that training lacks are left out."""
        return [self.number[symbol] for symbol in symbols if symbol in self.number]

    def fit(self, train: Sequence[Cell], valid: Sequence[Cell]) -> None:
        def on_epoch(row: Epoch) -> None:
            say(f"  epoch {row.epoch}: train {row.train_nats:.3f}, valid {row.valid_nats:.3f} nats")

        with tempfile.TemporaryDirectory() as folder:
            trainer = Trainer(self.model, self.model.recipe, Path(folder), on_epoch=on_epoch)
            trainer.fit(self.text(train), self.text(valid))

    @torch.inference_mode()
    def forms(self, cells: Sequence[Cell]) -> list[str]:
        """Write the likeliest letter after each, until the end."""
        self.model.eval()
        device = self.model.embedding.weight.device
        conditions = torch.from_numpy(self.before(cells)).to(device).unsqueeze(0)
        words = torch.full((1, len(cells)), END, device=device)
        state, written, is_done = self.model.encoder.initial_state(len(cells)), [], False
        while not is_done and len(written) < LONGEST:
            h, state = self.model(words, state, {"previous": conditions})
            words = self.model.output.log_prob(h[0]).argmax(dim=1).unsqueeze(0)
            written.append(words[0].cpu().numpy())
            is_done = bool((np.stack(written) == END).any(axis=0).all())
        letters = np.stack(written, axis=1).tolist()
        whole = (row[: row.index(END)] if END in row else row for row in letters)
        return ["".join(self.symbols[letter] for letter in row) for row in whole]


def recipe_of(epochs: int, reach: int, seed: int) -> Recipe:
    condition = {"kind": "attended", "reach": reach, "dropout": 0.0}
    sizes = {"layers": 1, "embedding": 96, "hidden": 128, "tied": False, "batch": 64}
    pace = {"epochs": epochs, "patience": epochs, "schedule": "linear", "learning_rate": 5e-3}
    dropouts = {"input_dropout": 0.0, "hidden_dropout": 0.0, "output_dropout": 0.1}
    shared = {"condition": condition, "text": "sentences", "seed": seed}
    return Recipe(**shared, **sizes, **pace, **dropouts)


def exact_match(cells: Sequence[Cell], forms: Sequence[str]) -> float:
    """Return the share of cells whose form is one of the right ones."""
    return float(np.mean([form in cell.forms for cell, form in zip(cells, forms, strict=True)]))


def main(lexicon: str, lemmas: int = 800, epochs: int = 8, reach: int = 24, seed: int = 1) -> None:
    """Learn from LEXICON, such as lefff or dela; an eighth of the lemmas is for the test.

    C has `reach` letters and features.
    """
    rows = everything(load([lexicon], folder=folder_of))
    by_lemma = cells_of(rows, lemmas, seed)
    held = len(by_lemma) // 8
    order = np.random.default_rng(seed).permutation(len(by_lemma))
    test, valid, train = (
        [cell for place in part for cell in by_lemma[place]]
        for part in (order[:held], order[held : held + held // 2], order[held + held // 2 :])
    )
    sizes = [f"{len(part):,}" for part in (train, valid, test)]
    echo(f"cells of training, validation and test: {', '.join(sizes)}")
    endings = EndingRules(train)
    of_endings = [endings.form(cell.lemma, cell.features) for cell in test]
    echo(f"endings: exact match {exact_match(test, of_endings):.3f}")
    began = time.process_time()
    network = Reinflection(train, recipe_of(epochs, reach, seed))
    network.fit(train, valid)
    forms = network.forms(test)
    echo(
        f"attended: exact match {exact_match(test, forms):.3f}, "
        f"{time.process_time() - began:.0f} s of CPU"
    )
    for cell, form, by_ending in list(zip(test, forms, of_endings, strict=True))[:5]:
        echo(f"  {cell.lemma} {'|'.join(cell.features)}: {form}, {by_ending} ({cell.forms[0]})")


if __name__ == "__main__":
    typer.run(main)
