"""Figures and HTML as values that a notebook shows."""

from dataclasses import dataclass, field

from matplotlib.figure import Figure

from pipeline.figures import svg


@dataclass(frozen=True)
class Picture:
    """A figure, drawn without a window or a global state."""

    figure: Figure = field(repr=False)

    def _repr_svg_(self) -> str:
        return svg(self.figure).decode()


@dataclass(frozen=True)
class Html:
    """Part of a page."""

    text: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.text
