"""How long the page takes: to be there, to answer at first, for each sentence, and under load.

Under load many questions are asked in a row, then the same ones by many askers at once. Every
question is another one, on a connection of its own. An answer must not depend on what else is
asked, nor the memory that the server takes on how much was.

In a crowd one asker gives the server the worst text of the largest size, and all others ask for a
sentence each at once: what counts is how long the last of them waits.
"""

import http.client
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

JSON = {"Content-Type": "application/json"}


class Served(NamedTuple):
    """A page that a process of its own serves."""

    process: int
    address: str  # host and port
    model: str  # that is asked at first


class Waits(NamedTuple):
    page: float  # seconds until the page can be opened
    answer: float  # seconds until a sentence is answered
    sentences: list[float]  # seconds for each sentence after that


def measure_waits(runs: Sequence[Path], sentences: Sequence[str]) -> Waits:
    """Start the page as a person does and type sentences into it, as the browser asks them."""
    start = time.perf_counter()
    with served(runs) as page:
        at_page = time.perf_counter() - start
        connection = http.client.HTTPConnection(page.address)
        asked = [{"ask": "read", "model": page.model, "text": text} for text in ("", *sentences)]
        first, *waits = [_seconds(connection, question) for question in asked]
        return Waits(at_page, at_page + first, waits)


@contextmanager
def served(runs: Sequence[Path]) -> Iterator[Served]:
    """The page of some runs, as `accord page` serves it, until it is left."""
    asked = [part for run in runs for part in ("--run", str(run))]
    command = [sys.executable, "-m", "accord.pipeline.cli.main", "page", "--port", "0", *asked]
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
    """An answer, be it that a question is refused."""
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
    """The models that a page names."""
    _, _, rest = page.partition('id="given">')
    return json.loads(rest.partition("</script>")[0])["models"]


WARM_UP = 100  # questions, after which all is loaded that is ever kept
KINDS = 20  # questions in turn, of which one lets the model write, which takes longest
SHARES = 4  # after which the memory is read
MEMORY = Path("/proc")  # where Linux tells what a process takes


class Pass(NamedTuple):
    """All questions asked once."""

    answers: list[bytes]
    waits: list[float]  # seconds for each
    seconds: float  # for all
    memory: list[int]  # bytes that the server takes after each of a few equal shares of them


class Load(NamedTuple):
    memory: int  # bytes that the server takes after the warm-up
    in_a_row: Pass
    at_once: Pass


def measure_load(runs: Sequence[Path], texts: Sequence[str], count: int, askers: int) -> Load:
    """Ask so many questions one after the other, and again by so many askers, in another order."""
    if not MEMORY.exists():
        raise OSError(f"expected {MEMORY}, which tells what memory a process takes")
    with served(runs) as page:
        about = json.loads(_answer(page, {"ask": "about", "model": page.model}))
        given = questions(page.model, texts, about["families"], count + WARM_UP)
        for question in given[:WARM_UP]:
            _answer(page, question)
        before = _memory(page)
        given = given[WARM_UP:]
        return Load(before, _ask(page, given, 1), _ask(page, given, askers))


def questions(
    model: str, texts: Sequence[str], families: Sequence[str], count: int
) -> list[dict[str, Any]]:
    """Of every kind, each another one: of every text as it is, then of one after another."""
    found = []
    for number in range(count):
        text = texts[number % len(texts)]
        if number >= len(texts):
            text = f"{texts[(number // len(texts) + number) % len(texts)]} {text}"
        off = [families[number % len(families)]] if families else []
        kinds = [
            {"ask": "read", "text": text},
            {"ask": "place", "text": text, "at": number % 3},
            {"ask": "read", "text": text, "off": off},
            {"ask": "place", "text": text, "at": 1, "others": ["dort", f"zorglub{number}"]},
            {"ask": "place", "text": text, "at": len(text) + number},  # which is refused
        ]
        question = kinds[number % len(kinds)]
        if number % KINDS == 0:
            start = " ".join(text.split()[:3])
            constraints = ["NOUN Number=Plur"] if number % (2 * KINDS) else []
            question = {"ask": "write", "start": start, "constraints": constraints, "seed": number}
        found.append({"model": model, **question})
    return found


def differing(load: Load) -> list[int]:
    """The numbers of the questions that had another answer when many were asked at once."""
    pairs = zip(load.in_a_row.answers, load.at_once.answers, strict=True)
    return [number for number, (alone, together) in enumerate(pairs) if alone != together]


WORST = {  # texts of the largest size that is read
    "20,000 words without a stop": "mot " * 20_000,
    "16,000 blanks": "la" + " " * 16_000 + "fin",
    "12,000 unknown words": " ".join(f"zorglub{number}x" for number in range(12_000)),
    "one word of 200,000 letters": "a" * 200_000,
    "19,900 stops": ". " * 19_900,
    "180,000 marks on a letter": "e" + "\u0301" * 180_000,
}
HEAD_START = 0.3  # seconds that the worst text is there before all others ask


class Crowd(NamedTuple):
    """What others wait for while one asker has the worst text."""

    text: str
    page: float  # seconds until the page itself is sent
    waits: list[float]  # of all others, seconds for a sentence
    seconds: float  # until the long text is answered, or until the others were


def measure_crowd(runs: Sequence[Path], texts: Sequence[str], askers: int) -> Iterator[Crowd]:
    """For each of the worst texts: it is asked, then all others ask at once."""
    with served(runs) as page:
        for kind in ({"ask": "readings", "words": ["le"]}, {"ask": "expect", "text": "Le"}):
            _answer(page, {"model": page.model, **kind})  # all is loaded
        for name, worst in WORST.items():
            given = [
                {"ask": "read", "model": page.model, "text": texts[number % len(texts)]}
                for number in range(askers - 1)
            ]
            start = time.perf_counter()
            long = threading.Thread(target=_read_for_a_while, args=(page, worst), daemon=True)
            long.start()
            time.sleep(HEAD_START)
            with ThreadPoolExecutor(askers) as threads:
                found = threads.map(partial(_timed, page), given)
                opened = time.perf_counter()
                send(http.client.HTTPConnection(page.address), "GET", "/")
                opened = time.perf_counter() - opened
                waits = [wait for _, wait in found]
            long.join(timeout=PATIENCE)
            yield Crowd(name, opened, waits, time.perf_counter() - start)


PATIENCE = 20  # seconds that a long text is waited for


def _read_for_a_while(page: Served, text: str) -> None:
    """Ask for a text in parts, and leave if it takes too long."""
    connection = http.client.HTTPConnection(page.address, timeout=PATIENCE)
    question = json.dumps({"ask": "read", "model": page.model, "text": text})
    connection.request("POST", "/parts", question, JSON)
    until, response = time.perf_counter() + PATIENCE, connection.getresponse()
    while response.readline() and time.perf_counter() < until:
        pass
    connection.close()


def _ask(page: Served, given: Sequence[dict[str, Any]], askers: int) -> Pass:
    order = random.Random(askers).sample(range(len(given)), len(given))
    start = time.perf_counter()
    with ThreadPoolExecutor(askers) as threads:
        in_order = threads.map(partial(_timed, page), (given[number] for number in order))
        found, memory = {}, []
        for number, answer in zip(order, in_order, strict=True):
            found[number] = answer
            if len(found) * SHARES // len(given) > len(memory):
                memory.append(_memory(page))
    seconds = time.perf_counter() - start
    answers, waits = zip(*(found[number] for number in range(len(given))), strict=True)
    return Pass(list(answers), list(waits), seconds, memory)


def _timed(page: Served, question: dict[str, Any]) -> tuple[bytes, float]:
    start = time.perf_counter()
    return _answer(page, question), time.perf_counter() - start


def _answer(page: Served, question: dict[str, Any]) -> bytes:
    connection = http.client.HTTPConnection(page.address)
    try:
        return send(connection, "POST", "/ask", question)
    finally:
        connection.close()


def _memory(page: Served) -> int:
    lines = (MEMORY / str(page.process) / "status").read_text().splitlines()
    (resident,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(resident) << 10
