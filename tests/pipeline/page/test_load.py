"""The page in several windows and for long: the answers of one at a time, in flat memory."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

AT_ONCE = 8
JSON = {"Content-Type": "application/json"}
WORDS = ["le", "la", "les", "chien", "chiens", "chat", "petite", "dort", "voisin", "zorglub", "."]
STATM = Path("/proc/self/statm")
PAGE = 4096  # bytes


def questions(count: int) -> list[dict]:
    """Of every kind and of both models, each another one."""
    found = []
    for number in range(count):
        text = " ".join(WORDS[number // len(WORDS) ** place % len(WORDS)] for place in range(4))
        model = {"model": ("ll-rnn", "rnn")[number // 5 % 2]}
        found.append(
            [
                {"ask": "read", "text": text, **model},
                {"ask": "place", "text": text, "at": number % 4, "others": ["dort"], **model},
                {"ask": "write", "start": text, "seed": number, **model},
                {"ask": "read", "text": text, "off": ["form"], **model},
                {"ask": "place", "text": text, "at": 99, **model},  # which is refused
            ][number % 5]
        )
    return found


def asked(server, question: dict) -> tuple[int, dict]:
    connection = http.client.HTTPConnection(*server.server_address, timeout=60)
    try:
        connection.request("POST", "/ask", json.dumps(question), JSON)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_questions_at_once_are_answered_as_one_at_a_time(server):
    given = questions(40)
    alone = [asked(server, question) for question in given]
    assert {status for status, _ in alone} == {200, 400}
    ready = threading.Barrier(AT_ONCE)

    def together(question: dict) -> tuple[int, dict]:
        ready.wait()
        return asked(server, question)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert [*threads.map(together, given)] == alone


@pytest.mark.long
@pytest.mark.skipif(not STATM.exists(), reason="memory is read from /proc")
def test_a_thousand_in_a_row_take_no_more_memory_than_the_first(server):
    def memory() -> int:
        return int(STATM.read_text().split()[1]) * PAGE

    given = questions(1200)
    first = [asked(server, question) for question in given[:200]]
    before = memory()
    for question in given[200:]:
        asked(server, question)
    assert [asked(server, question) for question in given[:200]] == first
    assert memory() - before < 16 << 20


def test_who_goes_away_before_the_answer_leaves_no_trace(server, capfd):
    for question in questions(10):
        connection = http.client.HTTPConnection(*server.server_address, timeout=60)
        connection.request("POST", "/ask", json.dumps(question), JSON)
        connection.close()
    assert asked(server, {"ask": "about", "model": "rnn"})[0] == 200
    assert "Traceback" not in capfd.readouterr().err
