"""A page to give away: the answers to some sentences in one file, which needs no server.

The page finds an answer by its question, written as its script writes it. The file holds a table
of questions and answers. Features can be switched off one family at a time.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from accord.errors import AccordError
from accord.models.common.files import whole
from accord.pipeline.ask.scorer import without_gap
from accord.pipeline.page.answers import Models
from accord.pipeline.page.server import document

SEEDS = 3  # draws of new sentences that are kept
DIGITS = 6  # of a number: half the size, and more than is shown
FILE = "index.html"


class Lesson(NamedTuple):
    """A sentence, and perhaps a second one to compare it with."""

    text: str
    other: str = ""

    @property
    def differing_word(self) -> int | None:
        """Return the number of the first word that differs."""
        pairs = zip(self.text.split(), self.other.split(), strict=False)
        return next((place for place, (one, other) in enumerate(pairs) if one != other), None)


def read_lessons(path: Path) -> list[Lesson]:
    """Read the sentences of a file: one a line, a second one after a tab."""
    lessons = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        if not line.strip():
            continue
        texts = [text.strip() for text in line.split("\t") if text.strip()]
        if len(texts) > 2:
            raise AccordError(f"{path}, line {number}: expected one or two sentences, got {texts}")
        lessons.append(Lesson(*texts))
    if not lessons:
        raise AccordError(f"{path}: expected a sentence in each line, found none")
    return lessons


class SavedPage:
    """Asks all that a page of these sentences can need."""

    def __init__(self, models: Models, lessons: Sequence[Lesson]):
        self.models, self.lessons = models, lessons
        self.answers: dict[str, Any] = {}
        self.first = models.names[0]
        for model in models.names:
            self._keep(ask="about", model=model)
            self._keep(ask="card", model=model)

    def ways(self) -> list[tuple[str, list[str]]]:
        """Return each model as it is, and the first one without each family of features."""
        families = self.answers[_key(ask="about", model=self.first)]["families"]
        return [(model, []) for model in self.models.names] + [
            (self.first, [family]) for family in families
        ]

    def __len__(self) -> int:
        """Return the number of steps of `gather`."""
        return len(self.ways()) + len(self.lessons)

    def gather(self) -> Iterator[None]:
        """Answer everything, step by step, so that progress can be told."""
        for model, off in self.ways():  # one after the other: each takes its own tables
            for lesson in self.lessons:
                for text in filter(None, lesson):
                    self._text(model, text, off)
            yield
        for lesson in self.lessons:
            for corrected in self._corrected(lesson.text):
                self._text(self.first, corrected, [])
                self._suggestions(corrected)
            for seed in range(1, SEEDS + 1):
                question = {"start": without_gap(lesson.text), "constraints": [], "seed": seed}
                self._keep(ask="write", model=self.first, **question, off=[], context="")
            yield

    def write(self, folder: Path) -> Path:
        """Write the page as a file of a folder, whole or absent."""
        lessons = [
            {
                "name": [lesson.text] * 2,
                "state": {**lesson._asdict(), "at": lesson.differing_word},
            }
            for lesson in self.lessons
        ]
        first = {"model": self.first, **lessons[0]["state"]}
        kept = {"state": first, "examples": lessons, "seeds": SEEDS, "answers": self.answers}
        folder.mkdir(parents=True, exist_ok=True)
        with whole(folder / FILE) as partial:
            partial.write_text(document(self.models.names, kept), encoding="utf-8")
        return folder / FILE

    def _text(self, model: str, text: str, off: list[str]) -> None:
        """Keep the answers about a text: words, expectations and explanations."""
        way: dict[str, Any] = {"off": off, "context": ""}
        words = self._keep(ask="read", model=model, text=text, **way)["words"]
        self._keep(ask="expect", model=model, text=text, **way)
        if not self.answers[_key(ask="about", model=model)]["explained"]:
            return
        for at in range(len(words)):
            place = self._keep(ask="place", model=model, text=text, at=at, others=[], **way)
            forms = [choice["word"] for choice in place["asked"] or [place["best"]]]
            self._keep(ask="readings", model=model, words=forms)

    def _corrected(self, text: str) -> set[str]:
        """Return the texts that accepting a suggestion makes, one of them and all."""
        suggestions = self._suggestions(text)
        choices = [[suggestion] for suggestion in suggestions] + [suggestions] * bool(suggestions)
        return {accepted(text, chosen) for chosen in choices}

    def _suggestions(self, text: str) -> list[dict[str, Any]]:
        """Return the suggestions for all sentences of a text, at their places in it."""
        way: dict[str, Any] = {"off": [], "context": ""}
        read = self._keep(ask="read", model=self.first, text=text, **way)
        return [
            suggestion | {"start": suggestion["start"] + start, "end": suggestion["end"] + start}
            for start, end in read["sentences"]
            for suggestion in self._keep(ask="check", model=self.first, text=text[start:end])[
                "suggestions"
            ]
        ]

    def _keep(self, **question: Any) -> Any:
        key = _key(**question)
        if key not in self.answers:
            self.answers[key] = _short(self.models.answer(question))
        return self.answers[key]


def accepted(text: str, suggestions: Sequence[dict[str, Any]]) -> str:
    """Return a text with suggestions in it, put there from its end, so that places stay."""
    for suggestion in sorted(suggestions, key=lambda suggestion: -suggestion["start"]):
        text = text[: suggestion["start"]] + suggestion["suggestion"] + text[suggestion["end"] :]
    return text


def _key(**question: Any) -> str:
    """Return a question as JSON.stringify writes it."""
    return json.dumps(question, ensure_ascii=False, separators=(",", ":"))


def _short(value: Any) -> Any:
    """Return an answer with no more digits than are needed."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    return [*map(_short, value)] if isinstance(value, list | tuple) else value
