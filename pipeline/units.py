"""Spelling the words of a vocabulary in pieces, learned by byte-pair encoding, or in letters."""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
from tokenizers import Tokenizer, models, trainers

from models.units import Units
from pipeline.vocabulary import is_special

BOUNDARY = "\n"  # ends every word, and is in none
# What stands for each byte of a letter that training lacks, so that every word can be spelled.
BYTES = [chr(0xF0000 + byte) for byte in range(256)]


def learn_units(forms: Sequence[str], counts: Sequence[int], merges: int) -> Units:
    """The units of every form: letters, and what so many merges make of those counted.

    END and the unknown words are units of their own.
    """
    special = list(takewhile(is_special, forms))
    counted = [
        (form, int(count))
        for form, count in zip(forms, counts, strict=True)
        if count and form not in special
    ]
    letters = sorted({letter for form, _ in counted for letter in form})
    alphabet = [BOUNDARY, *BYTES, *letters]
    known = set(letters)

    def written(form: str) -> str:
        return "".join(c if c in known else _in_bytes(c) for c in form) + BOUNDARY

    tokeniser = Tokenizer(models.BPE())
    tokeniser.train_from_iterator(
        (written(form) for form, count in counted for _ in range(count)),
        trainers.BpeTrainer(
            vocab_size=len(alphabet) + merges, initial_alphabet=alphabet, show_progress=False
        ),
    )
    names = [*special, *(tokeniser.id_to_token(i) for i in range(tokeniser.get_vocab_size()))]
    spelled = [[number] for number in range(len(special))]
    for encoding in tokeniser.encode_batch([written(form) for form in forms[len(special) :]]):
        spelled.append([number + len(special) for number in encoding.ids])
    return Units(
        units=np.concatenate(spelled).astype(np.int32),
        starts=np.concatenate(([0], np.cumsum([len(units) for units in spelled]))),
        names=np.array(names, str),
    )


def _in_bytes(letter: str) -> str:
    return "".join(BYTES[byte] for byte in letter.encode())
