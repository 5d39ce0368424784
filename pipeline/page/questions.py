"""The questions of the page, in JSON; each is checked before it reaches a model."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a model is imported on first use, so that the page is there before
    from accord.pipeline.inference.scorer import Scorer
    from accord.pipeline.page.answers import Answer, AskedModel


@dataclass(frozen=True)
class Read:
    model: str
    text: str
    off: tuple[str, ...] = ()  # families of features that are switched off
    context: str = ""  # `text`, `none`, or empty for what the model was trained for

    def answer(self, model: "AskedModel") -> "Answer":
        return model.without(frozenset(self.off)).read(self.text, self.context or None)


@dataclass(frozen=True)
class PlaceQuestion:
    model: str
    text: str
    at: int  # the number of the word, from 0
    others: tuple[str, ...] = ()  # words to compare it with
    off: tuple[str, ...] = ()
    context: str = ""

    def answer(self, model: "AskedModel") -> "Answer":
        asked = model.without(frozenset(self.off))
        return asked.place(self.text, self.at, self.others, self.context or None)


@dataclass(frozen=True)
class Write:
    model: str
    start: str
    constraints: tuple[str, ...] = ()
    seed: int = 1
    off: tuple[str, ...] = ()

    def answer(self, model: "AskedModel") -> "Answer":
        return model.without(frozenset(self.off)).write(self.start, self.constraints, self.seed)


@dataclass(frozen=True)
class About:
    model: str

    def answer(self, model: "AskedModel") -> "Answer":
        return {
            "families": model.families,
            "explained": model.explainer is not None,
            "documents": model.scorer.reads_documents,
        }


QUESTIONS = {"read": Read, "place": PlaceQuestion, "write": Write, "about": About}


class Models:
    """The models of the page by name, each loaded when it is first asked, one question a time."""

    def __init__(self, load: "Mapping[str, Callable[[], Scorer]]"):
        self.names = list(load)
        self._load = load
        self._thread = ThreadPoolExecutor(1)  # torch and malloc keep memory for each that computes
        self._model = cache(self._loaded)

    def load_first(self) -> None:
        """Load the first model, or raise the reason why it cannot be loaded."""
        self.answer({"ask": "read", "text": "", "model": self.names[0]})

    def prepare_first(self) -> None:
        """Read the data of its first explanation in advance; other questions are answered."""
        model = self._model(self.names[0])
        if model.explainer:
            model.readings.table()
            self.answer({"ask": "place", "text": "", "at": 0, "model": self.names[0]})

    def close(self) -> None:
        """Cancel the questions that are waiting."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def answer(self, question: Any) -> "Answer":
        asked = parse(question)
        return self._thread.submit(lambda: asked.answer(self._model(asked.model))).result()

    def _loaded(self, name: str) -> "AskedModel":
        from accord.pipeline.page.answers import AskedModel

        if name not in self._load:
            raise ValueError(
                f"expected one of the models {', '.join(self.names)}; got {name!r:.80}"
            )
        return AskedModel(self._load[name]())


def parse(question: Any) -> Read | PlaceQuestion | Write | About:
    """A question from JSON; errors name a key that is missing, unknown or of another type."""
    given = dict(question) if isinstance(question, dict) else {}
    ask = given.pop("ask", None)
    if not isinstance(ask, str) or ask not in QUESTIONS:
        raise ValueError(f"ask: expected one of {', '.join(QUESTIONS)}; got {ask!r:.80}")
    kind = QUESTIONS[ask]
    known = {each.name: each for each in fields(kind)}
    if unknown := sorted(given.keys() - known.keys()):
        raise ValueError(f"{ask}: expected {', '.join(known)}; got {unknown[0]!r:.80}")
    for name, field in known.items():
        if name in given:
            given[name] = _checked(f"{ask}.{name}", given[name], field.type)
        elif field.default is MISSING:
            raise ValueError(f"{ask}: expected {name}, found none")
    return kind(**given)


def _checked(name: str, value: Any, kind: Any) -> Any:
    if kind in (int, str) and type(value) is kind:
        return value
    of_texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if kind == tuple[str, ...] and of_texts:
        return tuple(value)
    wanted = {int: "a whole number", str: "text"}.get(kind, "a list of texts")
    raise ValueError(f"{name}: expected {wanted}, got {value!r:.80}")
