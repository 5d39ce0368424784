"""From words to ids in a model's small form: forms are looked up where they lie, packed."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from accord.pipeline.prepared.vocabulary import Vocabulary
from accord.pipeline.sharing.compact.forms import Numbered, Numbers
from accord.pipeline.sharing.compact.words import Words

if TYPE_CHECKING:
    from accord.lexicon import Lexicon
    from accord.pipeline.prepared.unknown_words import Classes


class CompactVocabulary(Vocabulary):
    """The known words by their ids, and the classes of all others."""

    def __init__(self, words: Words, chain: "Callable[[], Lexicon]"):
        """`chain` makes what tells unknown words apart, when the first of them is met."""
        self.unknown, self.chain = words.unknown, chain
        self.forms = Numbered(words.forms, words.place)
        self.known = Numbers(words.forms, words.number, special=1 + len(words.unknown))

    @cached_property
    def _classes(self) -> "Classes":
        from accord.pipeline.prepared.unknown_words import Classes  # here, as it loads pandas

        return Classes(self.unknown, self.chain() if len(self.unknown) > 1 else None)
