"""The server, its one document, and pages to give away.

A page to give away has the answers to some sentences in one file, which needs no server. It finds
an answer by its question, written as its script writes it. Features can be switched off one family
at a time.

Python's own server is enough for a GET and a POST. Everything else that a browser could be tricked
into is rejected: a name in `Host` that is not this machine's (so no name can be bound to this
address from outside), another `Origin`, and questions that are not JSON.
"""

import base64
import errno
import hashlib
import ipaddress
import json
import sys
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from accord.errors import AccordError
from accord.models.common.files import write_whole
from accord.pipeline.ask.scorer import without_gap
from accord.pipeline.base.messages import track
from accord.pipeline.base.names import END
from accord.pipeline.page.answers import Models

SCRIPT = (  # its parts, in order
    "labels.js",
    "state.js",
    "charts.js",
    "terms.js",
    "verdict.js",
    "rows.js",
    "views.js",
    "page.js",
)


def document(models: Sequence[str], kept: object = None) -> str:
    """Return the page for some models, the first selected; with kept answers it asks none."""
    content = {
        "models": list(models),
        "end": END,
        "examples": json.loads(_text("examples.json")),
        **json.loads(_text("labels.json")),
    }
    return Template(_text("page.html")).substitute(
        policy=policy(),
        style=_text("page.css"),
        script=_script(),
        given=_in_html(content),
        kept=_in_html(kept),
    )


def policy() -> str:
    """Return the Content-Security-Policy: this style, this script, questions to this server."""
    return (
        f"default-src 'none'; script-src {_hash(_script())}; style-src {_hash(_text('page.css'))}; "
        f"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _script() -> str:
    return "".join(_text(name) for name in SCRIPT)


def _in_html(value: object) -> str:
    """Return JSON that ends no script element."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _text(name: str) -> str:
    return (files("accord.pipeline.page") / name).read_text(encoding="utf-8")


LOOPBACK = "127.0.0.1"
LARGEST = 1 << 18  # bytes of a question: of the longest text, each character six
TOLD = (ValueError, LookupError, OSError, RecursionError)  # errors that the page shows


class PageServer(ThreadingHTTPServer):
    """Serves on an address until it is shut down; port 0 takes one that is free."""

    daemon_threads = True

    def __init__(self, models: Models, host: str = LOOPBACK, port: int = 0):
        self.models = models
        self.page = document(models.names).encode()
        self.policy = policy() + "; frame-ancestors 'none'"
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise AccordError(
                    f"{host}:{port} is in use, perhaps by another page; --port 0 takes a free port"
                ) from None
            raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
        self.host = host

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.server_address[1]}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that leave before the answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def is_own(self, host: str | None) -> bool:
        """Tell whether a request names this machine: by number, as localhost, or by --host."""
        try:
            name = urlsplit(f"//{host or ''}").hostname or ""
        except ValueError:  # a bracket that does not close
            return False
        return name in ("localhost", self.host) or _is_number(name)


class Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = -1, True  # an answer leaves whole and at once
    timeout = 60  # seconds that a connection may be silent before its thread ends
    server_version, sys_version = "accord", ""

    def do_GET(self) -> None:
        if self._refused():
            return
        if self.path != "/":
            self._tell(HTTPStatus.NOT_FOUND, "there is only one page: /")
            return
        self._send(HTTPStatus.OK, "text/html", self.server.page)

    def do_POST(self) -> None:
        if self._refused():
            return
        length = self.headers.get("Content-Length", "")
        is_json = self.headers.get_content_type() == "application/json"
        if self.path != "/ask" or not is_json:
            self._tell(HTTPStatus.BAD_REQUEST, "expected JSON for /ask")
        elif not length.isdecimal() or len(length) > len(str(LARGEST)) or int(length) > LARGEST:
            self._tell(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {LARGEST:,} bytes")
        else:
            self._answer(self.rfile.read(int(length)))

    def _answer(self, question: bytes) -> None:
        try:
            answer = self.server.models.answer(json.loads(question))
        except TOLD as error:
            self._tell(HTTPStatus.BAD_REQUEST, str(error))
        else:
            self._send(HTTPStatus.OK, "application/json", json.dumps(answer).encode())

    def _refused(self) -> bool:
        """Refuse a request from another site or name; tell whether it was one."""
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        if self.server.is_own(host) and origin in (None, f"http://{host}"):
            return False
        self._tell(HTTPStatus.FORBIDDEN, f"expected a question from {self.server.address}")
        return True

    def _tell(self, status: HTTPStatus, message: str) -> None:
        self.close_connection = True  # the unread rest of the request is no further one
        self._send(status, "application/json", json.dumps({"error": message}).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": self.server.policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *message: object) -> None:
        """Print no questions: they are private."""


def _is_number(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


SEEDS = 3  # draws of new sentences that are kept
FILE = "index.html"


class Lesson(NamedTuple):
    """A sentence, and perhaps a second one to compare it with."""

    text: str
    other: str = ""


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

    def gather(self) -> None:
        """Answer everything, one way after the other, as each takes its own tables.

        A way is a model as it is, or the first one without a family of features.
        """
        families = self._keep(ask="about", model=self.first)["families"]
        ways = [(model, []) for model in self.models.names] + [(self.first, [f]) for f in families]
        for model, off in track(ways, "models and their variants", len(ways)):
            for text in (text for lesson in self.lessons for text in lesson if text):
                self._text(model, text, off)
        for lesson in track(self.lessons, "sentences", len(self.lessons)):
            # The texts that accepting a suggestion makes, one of them and all.
            suggestions = self._suggestions(lesson.text)
            choices = [*([one] for one in suggestions), *[suggestions] * bool(suggestions)]
            for corrected in {accepted(lesson.text, chosen) for chosen in choices}:
                self._text(self.first, corrected, [])
                self._suggestions(corrected)
            for seed in range(1, SEEDS + 1):
                question = {"start": without_gap(lesson.text), "constraints": [], "seed": seed}
                self._keep(ask="write", model=self.first, **question, off=[], context="")

    def write(self, folder: Path) -> Path:
        """Write the page as a file of a folder, whole or absent."""
        lessons = [
            {
                "name": [text] * 2,
                "state": {"text": text, "other": other, "at": _differing(text, other)},
            }
            for text, other in self.lessons
        ]
        first = {"model": self.first, **lessons[0]["state"]}
        kept = {"state": first, "examples": lessons, "seeds": SEEDS, "answers": self.answers}
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / FILE, document(self.models.names, kept).encode())
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

    def _suggestions(self, text: str) -> list[dict[str, Any]]:
        """Return the suggestions for all sentences of a text, at their places in it."""
        way: dict[str, Any] = {"off": [], "context": ""}
        read = self._keep(ask="read", model=self.first, text=text, **way)
        suggestions = []
        for start, end in read["sentences"]:
            checked = self._keep(ask="check", model=self.first, text=text[start:end])
            for suggestion in checked["suggestions"]:
                moved = {name: suggestion[name] + start for name in ("start", "end")}
                suggestions.append(suggestion | moved)
        return suggestions

    def _keep(self, **question: Any) -> Any:
        key = _key(**question)
        if key not in self.answers:
            answer = json.dumps(self.models.answer(question))
            short = json.loads(answer, parse_float=lambda digits: float(f"{float(digits):.6g}"))
            self.answers[key] = short  # half the size, and more digits than are shown
        return self.answers[key]


def _differing(text: str, other: str) -> int | None:
    """Return the number of the first word that differs."""
    pairs = zip(text.split(), other.split(), strict=False)
    return next((place for place, (one, two) in enumerate(pairs) if one != two), None)


def accepted(text: str, suggestions: Sequence[dict[str, Any]]) -> str:
    """Return a text with suggestions in it, put there from its end, so that places stay."""
    for suggestion in sorted(suggestions, key=lambda suggestion: -suggestion["start"]):
        text = text[: suggestion["start"]] + suggestion["suggestion"] + text[suggestion["end"] :]
    return text


def _key(**question: Any) -> str:
    """Return a question as JSON.stringify writes it."""
    return json.dumps(question, ensure_ascii=False, separators=(",", ":"))
