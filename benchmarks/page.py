"""The time until the page is there, until its first answer, and for each sentence."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

JSON = {"Content-Type": "application/json"}


class Served(NamedTuple):
    """A page that a process of its own serves."""

    process: int
    address: str  # host and port
    model: str  # the first one


class Waits(NamedTuple):
    page: float  # seconds until the page can be opened
    answer: float  # seconds until a sentence is answered
    sentences: list[float]  # seconds for each sentence after that


def measure_waits(runs: Sequence[Path], sentences: Sequence[str]) -> Waits:
    """Start the page as a person does, and send the requests of a browser."""
    start = time.perf_counter()
    with served(runs) as page:
        at_page = time.perf_counter() - start
        connection = http.client.HTTPConnection(page.address)
        texts = ("", *sentences)
        questions = [{"ask": "read", "model": page.model, "text": text} for text in texts]
        first, *waits = [_seconds(connection, question) for question in questions]
        return Waits(at_page, at_page + first, waits)


@contextmanager
def served(runs: Sequence[Path]) -> Iterator[Served]:
    """Serve the page of some runs by `accord page`."""
    options = [part for run in runs for part in ("--run", str(run))]
    command = [sys.executable, "-m", "accord.pipeline.cli.main", "page", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = urlsplit(server.stdout.readline().split(" ")[0]).netloc
            if not address:
                raise OSError("expected the page's address, but it did not start")
            page = send(http.client.HTTPConnection(address), "GET", "/").decode()
            yield Served(server.pid, address, _models(page)[0])
        finally:
            server.terminate()


def send(
    connection: http.client.HTTPConnection, method: str, path: str, question: Any = None
) -> bytes:
    """Return the answer, which may be an error."""
    body = None if question is None else json.dumps(question)
    connection.request(method, path, body, JSON)
    return connection.getresponse().read()


def _seconds(connection: http.client.HTTPConnection, question: Any) -> float:
    start = time.perf_counter()
    answer = json.loads(send(connection, "POST", "/ask", question))
    if "error" in answer:
        raise ValueError(answer["error"])
    return time.perf_counter() - start


def _models(page: str) -> list[str]:
    """Return the models of a page."""
    _, _, rest = page.partition('id="given">')
    return json.loads(rest.partition("</script>")[0])["models"]
