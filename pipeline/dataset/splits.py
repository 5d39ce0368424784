"""Which sentences are for training, validation and test.

Splits are drawn by document: two sentences of one article share names and phrases, and a test on
one of them is easier where the other was trained on. Splits that a source has itself are kept.
"""

import random
from array import array
from collections.abc import Mapping, Sequence

import numpy as np

from accord.models.common.batching import in_a_row
from accord.pipeline.sections import CorpusParams

Splits = dict[str, array]  # the numbers of each split's sentences
OWN_VALIDATION = "dev"  # what the source holds out itself; `valid` is what is drawn here


def split_by_sentence(sentences: int, params: CorpusParams) -> Splits:
    """Shuffle, take the limit, hold out validation and test."""
    numbers = array("I", range(sentences))
    random.Random(params.seed).shuffle(numbers)
    numbers = numbers[: params.limit]
    test, valid = _amount(params.test, len(numbers)), _amount(params.valid, len(numbers))
    return {
        "train": numbers[test + valid :],
        "valid": numbers[test : test + valid],
        "test": numbers[:test],
    }


def split_by_document(
    documents: array, alone: Sequence[int], params: CorpusParams
) -> Splits | None:
    """The same with whole documents; the sentences of one stay together and in order.

    `documents` has the document of each sentence. Those in `alone` are drawn sentence by sentence.
    A limit may cut the last document that is drawn. None where no choice of documents has at least
    half as many sentences as a split is to have.
    """
    groups = np.array(documents, np.uint32)
    for document in alone:
        sentences = np.flatnonzero(groups == document)
        groups[sentences] = groups.max() + 1 + np.arange(len(sentences))
    order = np.argsort(groups, kind="stable")
    groups = groups[order]
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    sizes = np.diff(starts, append=len(order))
    drawn = array("I", range(len(sizes)))
    random.Random(params.seed).shuffle(drawn)
    waiting = _limited(np.array(drawn), sizes, params.limit)
    total = int(sizes[waiting].sum())
    chosen = {}
    for split in ("test", "valid"):
        wanted = _amount(getattr(params, split), total)
        chosen[split], waiting = _held_out(waiting, sizes, wanted)
        if sizes[chosen[split]].sum() < wanted / 2:
            return None
    if not len(waiting):
        return None
    return {
        split: _array(order[in_a_row(starts[of_split], sizes[of_split])])
        for split, of_split in (("train", waiting), *reversed(chosen.items()))
    }


def _limited(drawn: np.ndarray, sizes: np.ndarray, limit: int | None) -> np.ndarray:
    """The first documents that have so many sentences together; the last one is cut in `sizes`."""
    if limit is None:
        return drawn
    before = np.cumsum(sizes[drawn]) - sizes[drawn]
    kept = drawn[before < limit]
    sizes[kept[-1]] = min(sizes[kept[-1]], limit - before[len(kept) - 1])
    return kept


def _held_out(waiting: np.ndarray, sizes: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Documents that have so many sentences, as nearly as may be, and all others, both in order."""
    is_chosen, missing = np.zeros(len(waiting), bool), wanted
    for place, size in enumerate(sizes[waiting].tolist()):
        if not missing:
            break
        if size <= missing:
            is_chosen[place] = True
            missing -= size
    others = np.flatnonzero(~is_chosen)
    if missing and len(others):
        nearest = others[np.argmin(sizes[waiting[others]])]
        is_chosen[nearest] = sizes[waiting[nearest]] < 2 * missing  # else it is nearer without
    return waiting[is_chosen], waiting[~is_chosen]


def split_as_given(given: Mapping[str, array], params: CorpusParams) -> Splits:
    """Keep the source's splits; validation is drawn from train, or is the source's own."""
    parts = dict(given)
    train = parts.pop("train", array("I"))
    if params.valid or params.limit is not None:
        random.Random(params.seed).shuffle(train)
    if params.valid == 0:
        if OWN_VALIDATION not in parts:
            raise ValueError(
                f"valid is 0, but '{', '.join(params.source)}' has no split called dev or valid"
            )
        valid = parts.pop(OWN_VALIDATION)
    else:
        amount = _amount(params.valid, len(train))
        valid, train = train[:amount], train[amount:]
    if not parts:
        raise ValueError(
            f"corpus '{', '.join(params.source)}' leaves no split to test on: expected one besides "
            f"those for training and validation; with a valid above 0 its own dev is the test"
        )
    return {"train": train[: params.limit], "valid": valid, **parts}


def _amount(share_or_number: float, sentences: int) -> int:
    return round(share_or_number * sentences) if share_or_number < 1 else int(share_or_number)


def _array(numbers: np.ndarray) -> array:
    return array("I", numbers.astype(np.uint32).tobytes())
