"""Look into a run from Python: what each stage wrote, as data sets, tables and matrices.

Every method reads the files of one stage, so a run that stopped early answers as far as it came.
Where `model` is None, the last model of the run answers.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from accord import lexicon
from accord.errors import AccordError, NotFoundError
from accord.lexicon.index import pa
from accord.models.common.arrays import load_array
from accord.models.common.checks import nearest
from accord.models.common.files import load_json
from accord.pipeline.base.arrow import open_table, splits
from accord.pipeline.base.artefact import FinishedRun
from accord.pipeline.base.names import CHAIN, END, is_special
from accord.pipeline.config.configuration import checked_sections
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.encoded import held_out, is_same_text, read_forms
from accord.pipeline.data.templates import features_of, values_of
from accord.pipeline.model.comparison import of_models, read_epochs, read_scores
from accord.pipeline.model.endings import read_vocabulary
from accord.pipeline.model.words import NamedFeatures

if TYPE_CHECKING:
    from datasets import Dataset
    from scipy.sparse import csr_matrix

GRAMMAR = ("gender", "number", "tense", "mood", "person")  # columns of features


class Phi(NamedTuple):
    """Φ of a run."""

    matrix: csr_matrix  # words × features
    words: list[str]
    features: list[str]
    signature: np.ndarray  # of each word: words of one signature have the same row


class OpenedRun:
    """A run in its folder, finished or not."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def __repr__(self) -> str:
        """Return each model with its last stage and its perplexity on the test."""
        run = FinishedRun.read(self.folder)
        lines = []
        for model, stages in run.artefacts.items():
            line = f"  {model:{max(map(len, run.artefacts))}}  done up to {[*stages][-1]}"
            if "evaluate" in stages:
                test = read_scores(stages["evaluate"]).query("split == 'test'")
                line += f", perplexity {test.set_index('metric')['value']['perplexity']:,.1f}"
            lines.append(line)
        return "\n".join([f"<Accord run {self.folder}>", *lines])

    @property
    def models(self) -> list[str]:
        """Return the names of the models."""
        return [*FinishedRun.read(self.folder).artefacts]

    def stage(self, name: str, model: str | None = None) -> Path:
        """Return the folder of a stage's files."""
        models = FinishedRun.read(self.folder).artefacts
        model = [*models][-1] if model is None else model
        if model not in models:
            raise AccordError(f"{self.folder}: no model '{model}'{nearest(model, models)}")
        if name not in models[model]:
            raise NotFoundError(f"{self.folder}: the stage {name} of {model} is not done")
        return models[model][name]

    def sentences(self, split: str = "train", model: str | None = None) -> Dataset:
        """Return the sentences of a split, which stay on disk: id, document, text."""
        from datasets import Dataset  # here, as it takes a second to import

        return Dataset.from_file(str(self._table("corpus", split, model)))

    def tokens(self, split: str = "train", model: str | None = None) -> Dataset:
        """Return a row for each word of a split: its sentence and place, and its analyses.

        An ambiguous word has all values of its analyses, the likeliest first: `NOUN|VERB`.
        `analyses` counts them, and `count` the occurrences in training.
        """
        from datasets import Dataset

        words = open_table(self._table("tokenise", split, model))["words"].combine_chunks()
        distinct = words.flatten().dictionary_encode()
        lengths = words.value_lengths().to_numpy()
        place = chain.from_iterable(map(range, lengths.tolist()))
        table = pa.table(
            {
                "sentence": np.repeat(np.arange(len(lengths)), lengths),
                "place": np.fromiter(place, np.int64, lengths.sum()),
            }
        )
        looked_up = self._look_up(distinct.dictionary.to_pylist(), model)
        looked_up = pa.Table.from_pandas(looked_up, preserve_index=False).take(distinct.indices)
        for field, column in zip(looked_up.schema, looked_up.columns, strict=True):
            table = table.append_column(field, column)
        return Dataset(table)

    def analyses(self, model: str | None = None) -> pd.DataFrame:
        """Return a row for each analysis of each known word; `share` is its share of the word."""
        folder = self.stage("analyse", model)
        types = pd.read_parquet(folder / "types.parquet", columns=["form", "count"])
        table = _analyses(folder).join(types, on="word")
        table = table[~table["form"].map(is_special)]
        return table[["form", "count", *ANALYSED]].reset_index(drop=True)

    def phi(self, word: str | None = None, model: str | None = None) -> Phi | dict[str, float]:
        """Return Φ of all known words, or φ of any one string as the model reads it.

        An open vocabulary reads an unknown word as one of its class. To a closed one it is a rare
        word with its analyses, without vectors, clusters and frequency.
        """
        features = NamedFeatures.load(self.stage("featurise", model))
        analysed = self.stage("analyse", model)
        if word is None:
            words = pd.read_parquet(analysed / "types.parquet")["form"].tolist()
            return _matrix(features, words)
        vocabulary, lookup = read_vocabulary(analysed), load_json(analysed / CHAIN, dict)
        word = word.lower() if lookup["lowercase"] else word
        if vocabulary.is_open or word in vocabulary.known:
            return features.named(int(vocabulary.ids([word])[0]))
        run = FinishedRun.read(self.folder)
        model = model or [*run.params][-1]
        sections = checked_sections([run.params[model]], f"{self.folder}, model '{model}'")
        analyse, known = sections["analyse"], {*features.names}
        words = lexicon.load(
            analyse.lexicon, folder=folder_of, join=analyse.join, lowercase=lookup["lowercase"]
        )
        phi = features_of(word, words, sections["featurise"])
        return {name: value for name, value in phi.items() if name in known}

    def curves(self) -> pd.DataFrame:
        """Return the losses and the speed of each epoch of each model."""
        return of_models(FinishedRun.read(self.folder).of_stage("train"), read_epochs)

    def scores(self, split: str = "test", model: str | None = None) -> pd.DataFrame:
        """Return −log p of each word and sentence end of a split in nats, a column for each model.

        Models that read another text than `model` are left out.
        """
        encoded = self.stage("encode", model)
        if split not in held_out(encoded):
            raise AccordError(f"expected a split of {held_out(encoded)}, got '{split}'")
        lengths = load_array(encoded / f"{split}.lengths.npy")
        is_end = read_forms(encoded, split).positions < 0
        tokens = self.tokens(split, model).to_pandas()
        table = tokens[["form", "upos", "count"]].reindex(
            np.where(is_end, -1, np.cumsum(~is_end) - 1)
        )
        table.loc[-1, ["form", "count"]] = END, len(lengths)
        table = table.astype({"count": int}).reset_index(drop=True)
        table.insert(0, "sentence", np.repeat(np.arange(len(lengths)), lengths))
        table.insert(1, "place", table.groupby("sentence").cumcount())
        table["seen"] = ~load_array(encoded / f"{split}.unseen.npy")
        evaluated = FinishedRun.read(self.folder).of_stage("evaluate")
        for name, folder in evaluated.items():
            if is_same_text(encoded, self.stage("encode", name), split):
                table[name] = -load_array(folder / f"{split}.log_p.npy")
        return table

    def results(self, split: str = "test") -> pd.DataFrame:
        """Return every figure of each model on a split, a source or a suite; `train`: its size."""
        figures = of_models(FinishedRun.read(self.folder).of_stage("evaluate"))
        chosen = figures[figures["split"] == split]
        if chosen.empty:
            raise AccordError(f"no figures of '{split}'{nearest(split, figures['split'].unique())}")
        return chosen.pivot(index="model", columns="metric", values="value").loc[self.models]

    def _table(self, stage: str, split: str, model: str | None) -> Path:
        paths = splits(self.stage(stage, model))
        if split not in paths:
            raise AccordError(f"{self.folder}: no split '{split}'{nearest(split, paths)}")
        return paths[split]

    def _look_up(self, forms: list[str], model: str | None) -> pd.DataFrame:
        """Return a row for each form, in this order, with all values of its analyses."""
        folder = self.stage("analyse", model)
        ids = read_vocabulary(folder).ids(forms)
        counts = pd.read_parquet(folder / "types.parquet", columns=["form", "count"])
        of_form = counts.set_index("form")["count"].reindex(forms, fill_value=0).to_numpy()
        table = _analyses(folder)
        table = table[table["word"].isin(ids)]
        table = table.sort_values("share", ascending=False, kind="stable")
        joined = {}
        for name in ("lemma", "upos", *GRAMMAR, "source"):
            values = table[["word", name]].dropna().drop_duplicates()
            joined[name] = values.groupby("word")[name].agg("|".join)
        joined["analyses"] = table.groupby("word").size()
        looked_up = pd.DataFrame(joined).reindex(ids).reset_index(drop=True)
        looked_up["analyses"] = looked_up["analyses"].fillna(0).astype(int)
        looked_up.insert(0, "form", forms)
        looked_up.insert(1, "count", of_form)
        return looked_up


ANALYSED = ("lemma", "upos", *GRAMMAR, "feats", "source", "share")


def _analyses(folder: Path) -> pd.DataFrame:
    """Read the analyses of a stage's words, with a column for each feature of the grammar."""
    table = pd.read_parquet(folder / "analyses.parquet")
    for name in GRAMMAR:
        table[name] = values_of(table["feats"], name.capitalize())
    table["share"] = table["weight"] / table.groupby("word")["weight"].transform("sum")
    for name in ("lemma", "upos", "feats", "source"):
        table[name] = table[name].astype(object).where(table[name] != "", None)
    return table[["word", *ANALYSED]]


def _matrix(features: NamedFeatures, words: list[str]) -> Phi:
    from scipy.sparse import csr_matrix, hstack

    phi = features.phi
    rows = csr_matrix(
        (phi.values, phi.indices, phi.indptr), (phi.signature_count, phi.sparse_count)
    )
    if phi.dimensions:
        rows = hstack([rows, csr_matrix(phi.vectors[phi.vector])], format="csr")
    return Phi(rows[phi.signature], words, features.names, phi.signature)


def open_run(folder: str | Path) -> OpenedRun:
    """Open a run by its folder, such as `runs/mine`."""
    FinishedRun.read(Path(folder))
    return OpenedRun(folder)
