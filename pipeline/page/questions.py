"""The questions of the page, in JSON, and who is answered first.

Each question is checked before it reaches a model. A long text is answered in parts, and between
two parts others are answered: the thread that computes takes the question that came first, and one
that has taken time already counts as if it had come later.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache, cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from accord.errors import AccordError

if TYPE_CHECKING:  # imported on first use, so that the page is there before
    from accord.pipeline.ask.scorer import Scorer
    from accord.pipeline.page.answers import AskedModel
    from accord.pipeline.page.reading import Answer, TextReader

    Parts = Iterator[Answer | None]  # None is a pause


class OpenModel:
    """A model that is loaded: it reads at once, all other answers need more modules."""

    def __init__(self, scorer: "Scorer"):
        from accord.pipeline.page.reading import TextReader

        self.scorer = scorer.for_many()
        self.reader = TextReader(self.scorer)
        self._first = threading.Lock()

    def without(self, off: "Sequence[str]" = ()) -> "AskedModel":
        """All its answers, without the features of some families."""
        with self._first:
            return self._asked.without(frozenset(off))

    @cached_property
    def _asked(self) -> "AskedModel":
        from accord.pipeline.page.answers import AskedModel

        return AskedModel(self.scorer)

    def reader_without(self, off: "Sequence[str]") -> "TextReader":
        return self.without(off).reader if off else self.reader


QUICK, AFTERWARDS, SLOW, LONG = range(4)  # lanes: none waits for what others take long for
SHORT = 5_000  # characters; to split a longer text can take a second


class Question:
    """A question has one answer, or several parts of one."""

    lane: ClassVar[int] = QUICK
    model: str

    def parts(self, model: OpenModel) -> "Parts":
        raise NotImplementedError


@dataclass(frozen=True)
class Read(Question):
    """The surprisal of each word."""

    model: str
    text: str
    off: tuple[str, ...] = ()  # families of features that are switched off
    context: str = ""  # `text`, `none`, or empty for what the model was trained for

    def parts(self, model: OpenModel) -> "Parts":
        return model.reader_without(self.off).answer(self.text, self.context or None)


@dataclass(frozen=True)
class Expect(Question):
    """What was expected before each word."""

    lane = AFTERWARDS
    model: str
    text: str
    off: tuple[str, ...] = ()
    context: str = ""

    def parts(self, model: OpenModel) -> "Parts":
        return model.without(self.off).expect(self.text, self.context or None)


@dataclass(frozen=True)
class PlaceQuestion(Question):
    """Why a word has its probability."""

    model: str
    text: str
    at: int  # the number of the word, from 0
    others: tuple[str, ...] = ()  # words to compare it with
    off: tuple[str, ...] = ()
    context: str = ""

    def parts(self, model: OpenModel) -> "Parts":
        asked = model.without(self.off)
        return asked.place(self.text, self.at, self.others, self.context or None)


@dataclass(frozen=True)
class ReadingsQuestion(Question):
    """What the lexicon says of words."""

    lane = AFTERWARDS  # as it waits at first, while the analyses of all words are read
    model: str
    words: tuple[str, ...]

    def parts(self, model: OpenModel) -> "Parts":
        yield model.without().readings_of(self.words)


@dataclass(frozen=True)
class Check(Question):
    """Errors of agreement and homophones, sentence by sentence."""

    lane = SLOW
    model: str
    text: str

    def parts(self, model: OpenModel) -> "Parts":
        return model.without().check(self.text)


@dataclass(frozen=True)
class Write(Question):
    """New sentences after a text."""

    lane = SLOW
    model: str
    start: str
    constraints: tuple[str, ...] = ()
    seed: int = 1
    off: tuple[str, ...] = ()
    context: str = ""

    def parts(self, model: OpenModel) -> "Parts":
        asked = model.without(self.off)
        return asked.write(self.start, self.constraints, self.seed, self.context or None)


@dataclass(frozen=True)
class About(Question):
    """What a model is and can do."""

    lane = AFTERWARDS
    model: str

    def parts(self, model: OpenModel) -> "Parts":
        yield model.without().about()


@dataclass(frozen=True)
class Card(Question):
    """What a model has read, its limits, its licence and how to cite it."""

    lane = SLOW
    model: str

    def parts(self, model: OpenModel) -> "Parts":
        yield model.without().card()


QUESTIONS: dict[str, type[Question]] = {
    "read": Read,
    "expect": Expect,
    "place": PlaceQuestion,
    "readings": ReadingsQuestion,
    "check": Check,
    "write": Write,
    "about": About,
    "card": Card,
}
AT_ONCE = 2  # short questions that are computed side by side
PATIENCE, MOMENT = 3.0, 0.01  # seconds that a long text waits for short questions, and for a look
LATER = 10  # seconds that each second of computing sends a question back in the row


class Job:
    """A question that is being answered; its parts are taken one by one, as they come."""

    def __init__(self, parts: Callable[[], "Parts"]):
        self.begun, self.spent = time.monotonic(), 0.0
        self.is_dropped = False
        self._begin, self._parts = parts, None
        self._found: queue.SimpleQueue[Any] = queue.SimpleQueue()

    @property
    def rank(self) -> float:
        return self.begun + LATER * self.spent

    def advance(self) -> bool:
        """Compute up to the next pause; False at the end."""
        start = time.thread_time()
        try:
            self._parts = self._parts or self._begin()
            for part in self._parts:
                if part is None:
                    self.spent += time.thread_time() - start
                    return True
                self._found.put(part)
        except Exception as error:  # whoever waits for the answer is told
            self._found.put(error)
        self._found.put(self)
        return False

    def __iter__(self) -> "Iterator[Answer]":
        try:
            while (part := self._found.get()) is not self:
                if isinstance(part, Exception):
                    raise part
                yield part
        finally:
            self.is_dropped = True


class Lane:
    """Threads that compute the parts of questions in turn.

    A few compute whoever asks: torch and malloc keep memory for each that does. A lane gives way
    to `first` for a while, before each part, if there is one.
    """

    def __init__(self, threads: int = 1, first: "Lane | None" = None):
        self._waiting: queue.PriorityQueue[tuple[float, int, Job]] = queue.PriorityQueue()
        self._number, self._first = count(), first
        for _ in range(threads):
            threading.Thread(target=self._work, daemon=True).start()

    def ask(self, job: Job) -> Job:
        self._waiting.put((job.rank, next(self._number), job))
        return job

    def _work(self) -> None:
        while True:
            _, _, job = self._waiting.get()
            self._give_way()
            if not job.is_dropped and job.advance():
                self.ask(job)

    def _give_way(self) -> None:
        until = time.monotonic() + PATIENCE
        while self._first and self._first._waiting.qsize() and time.monotonic() < until:
            time.sleep(MOMENT)


class Models:
    """The models of the page by name, each loaded when it is first asked."""

    def __init__(self, load: "Mapping[str, Callable[[], Scorer]]"):
        self.names = list(load)
        self._load = load
        quick = Lane(AT_ONCE)
        self._lanes = [quick, Lane(), Lane(), Lane(first=quick)]  # by their numbers
        self._loading = {name: threading.Lock() for name in load}
        self._model = cache(self._loaded)

    def load_first(self) -> None:
        """Load the first model, or raise the reason why it cannot be loaded."""
        self.answer({"ask": "read", "text": "", "model": self.names[0]})

    def prepare_first(self) -> None:
        """Read what its first explanation needs in advance; other questions are answered."""
        self.loaded(self.names[0]).without().prepare()

    def answer(self, question: Any) -> "Answer":
        """The whole answer; parts are joined."""
        found: Answer = {}
        for part in self.parts(question):
            join(found, part)
        return found

    def parts(self, question: Any) -> "Iterator[Answer]":
        """The parts of an answer as they come. One that is left early is computed no further."""
        asked = parse(question)
        if asked.model not in self._load:
            raise AccordError(
                f"expected one of the models {', '.join(self.names)}; got {asked.model!r:.80}"
            )
        job = Job(lambda: asked.parts(self.loaded(asked.model)))
        is_long = asked.lane == QUICK and len(getattr(asked, "text", "")) > SHORT
        return iter(self._lanes[LONG if is_long else asked.lane].ask(job))

    def loaded(self, name: str) -> OpenModel:
        with self._loading[name]:
            return self._model(name)

    def _loaded(self, name: str) -> OpenModel:
        return OpenModel(self._load[name]())


def join(whole: "Answer", part: "Answer") -> None:
    """Add a part to an answer: lists grow, tables by their entries, all else is replaced."""
    for key, value in part.items():
        if isinstance(value, list) and key in whole:
            whole[key] += value
        elif isinstance(value, dict) and key in whole:
            join(whole[key], value)
        else:
            whole[key] = value


def parse(question: Any) -> Question:
    """A question from JSON; errors name a key that is missing, unknown or of another type."""
    given = dict(question) if isinstance(question, dict) else {}
    ask = given.pop("ask", None)
    if not isinstance(ask, str) or ask not in QUESTIONS:
        raise AccordError(f"ask: expected one of {', '.join(QUESTIONS)}; got {ask!r:.80}")
    kind: Any = QUESTIONS[ask]
    known = {each.name: each for each in fields(kind)}
    if unknown := sorted(given.keys() - known.keys()):
        raise AccordError(f"{ask}: expected {', '.join(known)}; got {unknown[0]!r:.80}")
    for name, field in known.items():
        if name in given:
            given[name] = _checked(f"{ask}.{name}", given[name], field.type)
        elif field.default is MISSING:
            raise AccordError(f"{ask}: expected {name}, found none")
    return kind(**given)


def _checked(name: str, value: Any, kind: Any) -> Any:
    if kind in (int, str) and type(value) is kind:
        return value
    of_texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if kind == tuple[str, ...] and of_texts:
        return tuple(value)
    wanted = {int: "a whole number", str: "text"}.get(kind, "a list of texts")
    raise AccordError(f"{name}: expected {wanted}, got {value!r:.80}")
