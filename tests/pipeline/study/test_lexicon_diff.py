"""Two chains of lexicons: the words that they analyse differently, and what that costs a model."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from query_cases import scored

import accord
from accord.models.background import Unigram
from accord.models.model import LanguageModel
from accord.pipeline.model.network import load_trained
from accord.pipeline.study.lexicons import lexicon_diff

HEADER = "form\tlemma\tupos\tfeats\n"
FEMININE = "petite\tpetit\tADJ\tGender=Fem|Number=Sing\n"
MASCULINE = "petite\tpetit\tADJ\tGender=Masc|Number=Plur\n"
OTHERS = "zorglub\tzorglub\tNOUN\tNumber=Sing\nla\tle\tDET\tGender=Fem|Number=Sing\n"


@pytest.fixture
def files(tmp_path):
    """Two tables that differ in one word, and a text."""
    for name, row in {"before": FEMININE, "after": MASCULINE}.items():
        (tmp_path / f"{name}.tsv").write_text(HEADER + row + OTHERS, encoding="utf-8")
    text = "La petite fille dort .\nLe chat est petit .\nLa petite mange .\n"
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    return tmp_path


def with_change(features, word: int, change: dict[int, float]):
    """Φ in which one word has a signature of its own, its row changed by so much."""
    row = features.signature[word]
    entries = slice(features.indptr[row], features.indptr[row + 1])
    old = dict(zip(features.indices[entries], features.values[entries], strict=True))
    new = {each: old.get(each, 0.0) + change.get(each, 0.0) for each in sorted({*old, *change})}
    signature = features.signature.copy()
    signature[word] = features.signature_count
    return replace(
        features,
        indptr=np.append(features.indptr, features.indptr[-1] + len(new)),
        indices=np.concatenate([features.indices, [*new]]),
        values=np.concatenate([features.values, [*new.values()]]),
        signature=signature,
        vector=np.append(features.vector, features.vector[row]),
    )


def test_the_cost_is_that_of_the_model_over_the_new_features(tiny_run, files):
    scorer = accord.load(tiny_run.folder, "ll-rnn")
    found = lexicon_diff(
        [str(files / "before.tsv")], [str(files / "after.tsv")], str(files / "text.txt"), scorer, 1
    )
    assert (found.words, found.tokens, found.changed_tokens) == (5, 5, 1)
    (row,) = found.table.to_dict("records")
    assert row["word"] == "petite"
    assert row["only before"] == "petit ADJ.Fem.Sing"
    assert row["only after"] == "petit ADJ.Masc.Plur"

    named = scorer.parts.features
    change = {"Gender=Fem": -1, "Number=Sing": -1, "Gender=Masc": 1, "Number=Plur": 1}
    phi = with_change(
        named.phi, scorer.id_of("petite"), {named.number(n): v for n, v in change.items()}
    )
    batch, _ = scorer.encoded([["la", "petite", "fille", "dort", "."]])
    with torch.inference_mode():
        network = load_trained(scorer.parts)
        changed = LanguageModel(network.recipe, phi, Unigram(phi, scorer.parts.mass()))
        changed.load_state_dict(network.state_dict())
        before, after = (scored(model, batch)[1] for model in (network, changed))
    assert abs(after - before) > 1e-3
    assert row["bits"] == row["total"] == pytest.approx((before - after) / np.log(2), abs=1e-4)
    assert found.bits_per_word == pytest.approx(row["total"] / 5)
