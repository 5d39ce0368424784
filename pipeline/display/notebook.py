"""Figures and HTML as values that a notebook shows."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from html import escape

from matplotlib.figure import Figure

from accord.pipeline.display.drawing import svg


@dataclass(frozen=True)
class Picture:
    """A figure, drawn without a window or a global state."""

    figure: Figure = field(repr=False)

    def _repr_svg_(self) -> str:
        fitting = '<svg style="max-width: 100%; height: auto"'  # on a narrow screen too
        return svg(self.figure).replace("<svg", fitting, 1)


@dataclass(frozen=True)
class Html:
    """Part of a page."""

    text: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.text


def marked_pairs(pairs: Iterable[tuple[str, str]]) -> Html:
    """Right and wrong sentences one above the other, the words in which they differ marked."""
    shown = []
    for good, bad in pairs:
        words = good.split(), bad.split()
        blocks = SequenceMatcher(None, *words, autojunk=False).get_matching_blocks()
        right = _marked(words[0], {block.a + at for block in blocks for at in range(block.size)})
        wrong = _marked(words[1], {block.b + at for block in blocks for at in range(block.size)})
        shown.append(f"<p>✓ {right}<br>✗ {wrong}</p>")
    return Html("".join(shown))


def _marked(words: Sequence[str], shared: Container[int]) -> str:
    return " ".join(
        escape(word) if place in shared else f"<mark>{escape(word)}</mark>"
        for place, word in enumerate(words)
    )
