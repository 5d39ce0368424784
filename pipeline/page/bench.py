"""How long the page takes: to be there, to answer at first, and for each sentence that is typed."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit


class Waits(NamedTuple):
    page: float  # seconds until the page can be opened
    answer: float  # seconds until a sentence is answered, the model being loaded first
    sentences: list[float]  # seconds for each sentence after that


def measure(runs: Sequence[Path], sentences: Sequence[str]) -> Waits:
    """Start the page as a person does and type sentences into it, as the browser asks them."""
    asked = [part for run in runs for part in ("--run", str(run))]
    command = [sys.executable, "-m", "pipeline.cli.main", "page", "--port", "0", *asked]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = urlsplit(server.stdout.readline().split(" ")[0])
            if not address.netloc:
                raise OSError("expected the page's address, but it did not start")
            connection = http.client.HTTPConnection(address.netloc)
            page = _answer(connection, "GET", "/")
            at_page = time.perf_counter() - start
            model = _models(page)[0]
            first, *waits = [_seconds(connection, model, each) for each in ("", *sentences)]
            return Waits(at_page, at_page + first, waits)
        finally:
            server.terminate()


def _seconds(connection: http.client.HTTPConnection, model: str, text: str) -> float:
    start = time.perf_counter()
    _answer(connection, "POST", "/ask", {"ask": "read", "model": model, "text": text, "off": []})
    return time.perf_counter() - start


def _answer(
    connection: http.client.HTTPConnection, method: str, path: str, question: dict | None = None
) -> str:
    body = json.dumps(question) if question else None
    connection.request(method, path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read().decode()
    if response.status != http.HTTPStatus.OK:
        raise ValueError(json.loads(text)["error"])
    return text


def _models(page: str) -> list[str]:
    """The models that a page names."""
    _, _, rest = page.partition('id="given">')
    return json.loads(rest.partition("</script>")[0])["models"]
