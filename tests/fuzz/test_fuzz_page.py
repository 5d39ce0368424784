"""Requests to the page as anybody may send them: an answer in JSON, or a word on what is wrong."""

import json
import math
import socket
import threading
import traceback
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from fuzz_cases import CASES, damaged, fuzz
from hypothesis import strategies as st

import accord
from accord.pipeline.page.answers import Models
from accord.pipeline.page.server import PageServer

TOLD = (ValueError, LookupError)  # which the server answers with
ASKED = [
    {"ask": "about", "model": "ll-rnn"},
    {"ask": "read", "model": "rnn", "text": "Le chien dort."},
    {"ask": "read", "model": "ll-rnn", "text": "La pomme …", "off": ["Number", "pos"]},
    {"ask": "place", "model": "ll-rnn", "text": "Le chat dort.", "at": 2, "others": ["mange"]},
    {"ask": "write", "model": "ll-rnn", "start": "Les", "constraints": ["NOUN"], "seed": 3},
    {"ask": "expect", "model": "rnn", "text": "Le chat dort.", "context": "text"},
    {"ask": "readings", "model": "ll-rnn", "words": ["chat"]},
]
TEXTS = st.text(max_size=20) | st.sampled_from(
    [
        *("ll-rnn", "rnn", "read", "Le zyglotron", "…", "\ud800", "\0", "x" * 20_000, "mot " * 900),
        *("DET Gender=Fem", "*: words=le,la,chat", "2: VERB", "51: NOUN", "e" + "\u0301" * 5000),
    ]
)
NUMBERS = st.integers() | st.sampled_from([-1, 0, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400])
ANY = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def questions(draw: st.DrawFn) -> Any:
    """A sound question of which something is changed, most often by its own kind; or anything."""
    question = dict(draw(st.sampled_from(ASKED)))
    for key in draw(st.lists(st.sampled_from(sorted(question)), max_size=2, unique=True)):
        kind = NUMBERS if isinstance(question[key], int) else TEXTS
        kind = st.lists(TEXTS, max_size=3) if isinstance(question[key], list) else kind
        question[key] = draw(st.one_of(kind, kind, kind, ANY))
    if draw(st.integers(0, 9)) == 0:
        question[draw(TEXTS)] = draw(ANY)
    return draw(ANY) if draw(st.integers(0, 19)) == 0 else question


@pytest.fixture(scope="module")
def models(tiny_run) -> Models:
    return Models({name: partial(accord.load, tiny_run.folder, name) for name in ("ll-rnn", "rnn")})


@CASES
def test_questions(cases, models):
    answered = 0

    def check(question: Any) -> None:
        nonlocal answered
        try:
            answer = models.answer(question)
        except TOLD as error:
            assert len(str(error)) < 2000
        else:
            answered += 1
            written = json.dumps(answer, allow_nan=False)
            assert all(map(math.isfinite, numbers(json.loads(written))))

    fuzz(cases, questions(), check)
    assert answered, "some questions are still sound"


def numbers(value: Any) -> Iterator[float]:
    """All numbers in what JSON holds."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from numbers(inner)


class Watched(PageServer):
    """Keeps what no request may cause."""

    def __init__(self, models: Models):
        super().__init__(models)
        self.faults: list[str] = []

    def handle_error(self, request, client_address):
        self.faults.append(traceback.format_exc())


@pytest.fixture(scope="module")
def server(models):
    with Watched(models) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.shutdown()


def request(question: Any, **headers: str) -> bytes:
    body = json.dumps(question).encode()
    lines = {"Host": "127.0.0.1", "Content-Type": "application/json", **headers}
    lines.setdefault("Content-Length", str(len(body)))
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST /ask HTTP/1.1\r\n{head}\r\n".encode() + body


SOUND = [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /../etc/passwd HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
    *map(request, ASKED[:2]),
    request(ASKED[0], Origin="http://127.0.0.1", Connection="close"),
]


def sent(server: PageServer, data: bytes) -> bytes:
    """All that the server says to some bytes before it, or the end of them, closes the door."""
    with socket.create_connection(server.server_address[:2], timeout=60) as connection:
        said = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(1 << 16):
                said += part
        except TimeoutError:
            raise
        except OSError:
            pass  # it need not read what it refused to the end
        return said


@CASES
def test_bytes_sent_to_the_server(cases, server):
    def check(data: bytes) -> None:
        said = sent(server, data)
        assert not server.faults, server.faults[0]
        assert b"Traceback" not in said

    fuzz(cases, damaged(SOUND), check)
    assert b"200 OK" in sent(server, SOUND[0])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "["}, b" 403 "),
        ({"Host": "[::1"}, b" 403 "),
        ({"Content-Length": "9" * 5000}, b" 413 "),
        ({"Content-Length": "-1"}, b" 413 "),
    ],
)
def test_headers_that_no_browser_sends(server, headers, status):
    said = sent(server, request(ASKED[0], **headers))
    assert status in said.split(b"\r\n")[0]
    assert not server.faults
