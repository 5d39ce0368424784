"""Which sentences are for training, validation and test.

Splits are drawn by document: two sentences of one article share names and phrases, and a test on
one of them is easier where the other was trained on. Splits of the source itself are kept.
"""

import random
from array import array
from collections.abc import Mapping, Sequence

import numpy as np

from accord.errors import AccordError
from accord.models.data import in_a_row
from accord.pipeline.config.sections import CorpusParams

Splits = dict[str, array]  # the numbers of each split's sentences
OWN_VALIDATION = "dev"  # held out by the source itself; `valid` is drawn here


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
    documents: array, alone: Sequence[int], params: CorpusParams, of_parts: Sequence[range] = ()
) -> Splits | None:
    """Draw whole documents; the sentences of one stay together and in order.

    `documents` has the document of each sentence. Those in `alone` are drawn sentence by sentence.
    `of_parts` has the documents of each source, where there are several: every source gives its
    share of validation and test, also one that has few and long documents among many short ones.
    A limit may cut the last document that is drawn. None where no choice of documents has at least
    half as many sentences as a split is to have.
    """
    groups = np.array(documents, np.uint32)
    ends = np.array([part.stop for part in of_parts[:-1]], np.uint32)
    parts = np.searchsorted(ends, groups, side="right")
    for document in alone:
        sentences = np.flatnonzero(groups == document)
        groups[sentences] = groups.max() + 1 + np.arange(len(sentences))
    order = np.argsort(groups, kind="stable")
    groups = groups[order]
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    sizes, parts = np.diff(starts, append=len(order)), parts[order][starts]
    drawn = array("I", range(len(sizes)))
    random.Random(params.seed).shuffle(drawn)
    waiting = _limited(np.array(drawn), sizes, params.limit)
    total = int(sizes[waiting].sum())
    shares = np.bincount(parts[waiting], sizes[waiting]) / total
    chosen = {}
    for split in ("test", "valid"):
        wanted, is_chosen = _amount(getattr(params, split), total), np.zeros(len(waiting), bool)
        for part, share in enumerate(shares):
            of_part = np.flatnonzero(parts[waiting] == part)
            amount = round(share * wanted)
            is_chosen[of_part[_held_out(sizes[waiting[of_part]], amount)]] = True
        chosen[split], waiting = waiting[is_chosen], waiting[~is_chosen]
        if sizes[chosen[split]].sum() < wanted / 2:
            return None
    if not len(waiting):
        return None
    return {
        split: _array(order[in_a_row(starts[documents], sizes[documents])])
        for split, documents in (("train", waiting), *reversed(chosen.items()))
    }


def _limited(drawn: np.ndarray, sizes: np.ndarray, limit: int | None) -> np.ndarray:
    """Return the first documents that have `limit` sentences; the last is cut in `sizes`."""
    if limit is None:
        return drawn
    starts = np.cumsum(sizes[drawn]) - sizes[drawn]
    kept = drawn[starts < limit]
    sizes[kept[-1]] = min(sizes[kept[-1]], limit - starts[len(kept) - 1])
    return kept


def _held_out(sizes: np.ndarray, wanted: int) -> np.ndarray:
    """Return documents, in the order of the draw, that have about `wanted` sentences."""
    is_chosen, missing = np.zeros(len(sizes), bool), wanted
    for place, size in enumerate(sizes.tolist()):
        if not missing:
            break
        if size <= missing:
            is_chosen[place] = True
            missing -= size
    others = np.flatnonzero(~is_chosen)
    if missing and len(others):
        nearest = others[np.argmin(sizes[others])]
        is_chosen[nearest] = sizes[nearest] < 2 * missing  # else it is nearer without
    return is_chosen


def keep_splits(splits: Mapping[str, array], params: CorpusParams) -> Splits:
    """Keep the source's splits; validation is drawn from train, or is the source's own."""
    parts = dict(splits)
    train = parts.pop("train", array("I"))
    if params.valid or params.limit is not None:
        random.Random(params.seed).shuffle(train)
    if params.valid == 0:
        if OWN_VALIDATION not in parts:
            raise AccordError(
                f"valid is 0, but '{', '.join(params.source)}' has no split called dev or valid"
            )
        valid = parts.pop(OWN_VALIDATION)
    else:
        amount = _amount(params.valid, len(train))
        valid, train = train[:amount], train[amount:]
    if not parts:
        raise AccordError(
            f"corpus '{', '.join(params.source)}' leaves no split to test on: expected one besides "
            f"those for training and validation; with a valid above 0 its own dev is the test"
        )
    return {"train": train[: params.limit], "valid": valid, **parts}


def _amount(share_or_number: float, sentences: int) -> int:
    return round(share_or_number * sentences) if share_or_number < 1 else int(share_or_number)


def _array(numbers: np.ndarray) -> array:
    return array("I", numbers.astype(np.uint32).tobytes())
