"""The server and its one document.

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
from string import Template
from urllib.parse import urlsplit

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
        style=_style(),
        script=_script(),
        given=_in_html(content),
        kept=_in_html(kept),
    )


def policy() -> str:
    """Return the Content-Security-Policy: this style, this script, questions to this server."""
    return (
        f"default-src 'none'; script-src {_hash(_script())}; style-src {_hash(_style())}; "
        f"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _style() -> str:
    return _text("page.css")


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
                raise OSError(
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
