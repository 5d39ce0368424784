"""Spelling words in pieces, learned by byte-pair encoding, or in letters."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, trainers

from accord.models.spelling.spelling import BOUNDARY, SPELLER, Subwords

# A sign for each byte of a letter that training lacks, so that every word can be spelled.
BYTES = [chr(0xF0000 + byte) for byte in range(256)]


class Speller:
    """Splits any string into subwords, numbered from 1; 0 is the end of a sentence."""

    def __init__(self, tokeniser: Tokenizer):
        self.tokeniser = tokeniser
        single = {piece for piece in tokeniser.get_vocab() if len(piece) == 1}
        self.letters = single - {*BYTES, BOUNDARY}

    @classmethod
    def learn(cls, counts: Mapping[str, int], merges: int) -> "Speller":
        """Learn letters and merges from counted words."""
        letters = sorted({letter for form in counts for letter in form} - {BOUNDARY, *BYTES})
        alphabet = [BOUNDARY, *BYTES, *letters]
        tokeniser = Tokenizer(models.BPE())
        tokeniser.train_from_iterator(
            (form + BOUNDARY for form, count in counts.items() for _ in range(count)),
            trainers.BpeTrainer(
                vocab_size=len(alphabet) + merges, initial_alphabet=alphabet, show_progress=False
            ),
        )
        return cls(tokeniser)

    def subwords(self, forms: Sequence[str]) -> Subwords:
        encoded = self.tokeniser.encode_batch([self._written(form) for form in forms])
        spelled = [*([number + 1 for number in word.ids] for word in encoded), [0]]
        return Subwords(
            subwords=np.concatenate(spelled).astype(np.int32),
            starts=np.concatenate(([0], np.cumsum([len(subwords) for subwords in spelled]))),
        )

    def _written(self, form: str) -> str:
        return "".join(c if c in self.letters else _in_bytes(c) for c in form) + BOUNDARY

    def save(self, folder: Path) -> None:
        self.tokeniser.save(str(folder / SPELLER))

    @classmethod
    def load(cls, folder: Path) -> "Speller | None":
        """Read the speller of a folder; None if there are no subwords."""
        path = folder / SPELLER
        return cls(Tokenizer.from_file(str(path))) if path.exists() else None


def _in_bytes(letter: str) -> str:
    return "".join(BYTES[byte] for byte in letter.encode())
