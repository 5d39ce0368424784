"""A lexicon that is a text file: read once into an index, then memory-mapped."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lexicon.analysis import Request
from lexicon.index import Index, compiled
from lexicon.reading import LexiconError, Report, Row


@dataclass(frozen=True)
class TextLexicon:
    """How a lexicon's file becomes a lexicon; an instance is what the registry holds."""

    name: str
    licence: str
    source: str | None  # the name of its data's folder; none if `file` says it all
    file: str  # the file in that folder
    read: Callable[[Path, Report], Iterator[Row]]
    version: int  # of `read`: raised whenever it comes to give other rows for the same file
    of_text: bool = False  # whether the file is a text, or made of one
    read_by: tuple[Path, ...] = ()  # other files that what is read depends on, as a tagger's own

    def __call__(self, request: Request) -> Index:
        path = self.path(request.folder)
        return self.open(path, lowercase=request.lowercase, strict=request.strict)

    def path(self, folder: Callable[[str], Path]) -> Path:
        """Where its file is, `folder` telling where a source's data lie."""
        return folder(self.source) / self.file if self.source else Path(self.file)

    def files(self, folder: Callable[[str], Path]) -> list[Path]:
        """All files that its answers depend on."""
        return [self.path(folder), *self.read_by]

    def open(self, path: Path, *, lowercase: bool = False, strict: bool = False) -> Index:
        if not path.is_file():
            raise LexiconError(f"lexicon {self.name}: no file {path}")
        index = compiled(
            path, self.read, self.version, self.read_by, lowercase=lowercase, strict=strict
        )
        lexicon = Index.open(self.name, self.licence, index)
        lexicon.of_text = self.of_text
        return lexicon
