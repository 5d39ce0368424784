"""The page asked by many at once and for long: the answers of one at a time, in flat memory."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import accord
from accord.pipeline.page.questions import Models

AT_ONCE = 20
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


def test_twenty_at_once_are_answered_as_one_at_a_time(server):
    given = questions(60)
    alone = [asked(server, question) for question in given]
    assert {status for status, _ in alone} == {200, 400}
    ready = threading.Barrier(AT_ONCE)

    def together(question: dict) -> tuple[int, dict]:
        ready.wait()
        return asked(server, question)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert [*threads.map(together, given)] == alone


def test_a_few_threads_compute_whoever_asks(models):
    """One a lane: torch and malloc keep memory for each thread that computes."""
    before = threading.active_count()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(models.answer, [each for each in questions(60) if "at" not in each]))
    assert threading.active_count() == before


def test_short_questions_pass_a_long_text_and_it_goes_on(models):
    """Whoever asks for a long text is answered too, but nobody waits behind them."""
    asked = {"ask": "read", "model": "ll-rnn"}
    long = models.parts({**asked, "text": "le chat dort " * 2_000})
    next(long)
    short = [models.answer({**asked, "text": f"Le chat {n} dort."}) for n in range(5)]
    parts = sum(1 for _ in long)
    assert all(len(each["words"]) == 6 for each in short)
    assert parts > 50


def test_a_text_that_nobody_waits_for_is_read_no_further(models):
    read = []
    reader = models.loaded("ll-rnn").reader
    scored = reader.scorer.score_encoded

    def counted(*asked):
        read.append(asked)
        return scored(*asked)

    reader.scorer.score_encoded = counted
    try:
        parts = models.parts({"ask": "read", "model": "ll-rnn", "text": "le chat dort . " * 4_000})
        next(parts)
        parts.close()
        models.answer({"ask": "read", "model": "ll-rnn", "text": "Oui."})
        assert len(read) < 20
    finally:
        del reader.scorer.score_encoded


def test_a_sentence_is_answered_while_the_readings_are_read(tiny_run):
    models = Models({"ll-rnn": partial(accord.load, tiny_run.folder, "ll-rnn")})
    models.load_first()
    parts = models.loaded("ll-rnn").without().scorer.parts
    begun, answered, read = threading.Event(), threading.Event(), parts.analyses

    def slow(columns):
        begun.set()
        assert answered.wait(60)
        return read(columns)

    parts.analyses = slow
    preparing = threading.Thread(target=models.prepare_first)
    preparing.start()
    assert begun.wait(60)
    assert models.answer({"ask": "read", "model": "ll-rnn", "text": "Le chat dort."})["words"]
    answered.set()
    preparing.join()


def test_two_hundred_in_a_row_on_one_connection(server, models):
    connection = http.client.HTTPConnection(*server.server_address, timeout=60)
    for question in questions(200):
        if question.get("at") == 99:
            continue  # a refusal ends its connection
        connection.request("POST", "/ask", json.dumps(question), JSON)
        answer = json.loads(connection.getresponse().read())
        assert answer == json.loads(json.dumps(models.answer(question)))
    connection.close()


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
