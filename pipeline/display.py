"""Figures and HTML as values that a notebook shows."""

from matplotlib.figure import Figure

from pipeline.figures import svg


class Picture:
    """A figure, drawn without a window or a global state."""

    def __init__(self, figure: Figure):
        self.figure = figure

    def _repr_svg_(self) -> str:
        return svg(self.figure).decode()


class Html(str):
    """Part of a page."""

    def _repr_html_(self) -> str:
        return self
