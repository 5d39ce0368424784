"""A form → its analyses: lemma, part of speech and features, from any lexicon or chain of them.

The names below are imported when they are first used: they load pandas, and homophones do not.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accord.lexicon.analysis import Analysis, Lexicon, LexiconError, load

PLACES = {
    "Analysis": "accord.lexicon.analysis:Analysis",
    "Lexicon": "accord.lexicon.analysis:Lexicon",
    "LexiconError": "accord.lexicon.analysis:LexiconError",
    "load": "accord.lexicon.analysis:load",
}
__all__ = ["Analysis", "Lexicon", "LexiconError", "load"]


def __getattr__(name: str) -> Any:
    if name in PLACES:
        return resolve_name(PLACES[name])
    raise AttributeError(f"module 'accord.lexicon' has no attribute '{name}'")
