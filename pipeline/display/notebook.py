"""Figures and HTML as values that a notebook shows."""

from dataclasses import dataclass, field

from matplotlib.figure import Figure

from pipeline.display.figures import svg


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
