"""The server answers its own page and nobody else's, one question at a time, and ends at once."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cli_cases import answered, invoked

from accord.errors import AccordError
from accord.pipeline.page import server
from accord.pipeline.page.server import PageServer

QUESTION = json.dumps({"ask": "about", "model": "ll-rnn"})


def answer(server, method="POST", path="/ask", body=QUESTION, **headers):
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    sent = {"Content-Type": "application/json", **headers}
    connection.request(method, path, body if method == "POST" else None, sent)
    response = connection.getresponse()
    return response.status, response.read().decode(), response.headers


def test_the_page_needs_nothing_from_outside(server):
    status, page, headers = answer(server, "GET", "/")
    assert status == 200
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", page)
    assert re.findall(r"https?://[^\s\"'`]+", page) == ["http://www.w3.org/2000/svg"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_a_question_is_answered(server):
    status, found, _ = answer(server)
    assert status == 200
    assert "Number" in json.loads(found)["families"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:80"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 400),
        ({"Host": "localhost"}, 200),
        ({"Host": "127.0.0.1:8420", "Origin": "http://127.0.0.1:8420"}, 200),
    ],
)
def test_other_sites_and_other_names_are_refused(server, headers, status):
    assert answer(server, **headers)[0] == status


@pytest.mark.parametrize(
    ("body", "said"),
    [("{", "Expecting property name"), ("[" * 100_000, ""), ('{"ask": "steal"}', "got 'steal'")],
)
def test_a_question_that_is_none_is_told_so(server, body, said):
    status, found, _ = answer(server, body=body)
    assert status == 400
    assert said in json.loads(found)["error"]


def test_too_long_a_question_is_not_read(server):
    status, found, _ = answer(server, **{"Content-Length": str((1 << 18) + 1)})
    assert status == 413
    assert "at most 262,144 bytes" in found


@pytest.mark.parametrize("path", ["/page.js", "/../setup.cfg", "/etc/passwd", "/?"])
def test_no_file_is_served(server, path):
    assert answer(server, "GET", path)[0] == 404


def test_only_this_machine_is_asked_unless_told(server, models):
    assert server.server_address[0] == "127.0.0.1"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(AccordError, match=f"127.0.0.1:{port}"):
            PageServer(models, port=port)


def test_both_languages_have_every_label_that_the_page_asks_for():
    folder = Path(server.__file__).parent
    table = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    legend = table.pop("legend")
    for part in table.values():
        assert all(len(both) == 2 and all(both) for both in part.values())
    names = table["interface"].keys()
    html = (folder / "page.html").read_text("utf-8")
    used = set(re.findall(r'data-(?:label|aria)="([^"]+)"', html))
    scripts = "".join(script.read_text("utf-8") for script in folder.glob("*.js"))
    used |= set(re.findall(r'\bsay(?:With)?\("([^"]+)"', scripts))
    assert used <= names
    unused = {name for name in names - used if f'"{name}"' not in scripts and name not in legend}
    assert unused <= {*table["help"], "context own", "context text", "context none", "mainly",
                      "because", "too many words", "too many characters"}  # fmt: skip
    assert all(name in table["help"] for name in legend)
    examples = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    assert len(examples) == 12


NARROW = "\u202f"


def test_french_has_narrow_spaces_before_its_marks_and_real_apostrophes():
    folder = Path(server.__file__).parent
    table = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    examples = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    french = [both[1] for name, part in table.items() if name != "legend" for both in part.values()]
    french += [example["name"][1] for example in examples]
    for text in french:
        said = re.sub(r"`[^`]*`|\*: words=", "", text)  # code is no French
        for mark in re.finditer(r"[:;?!»]", said):
            assert said[: mark.start()].endswith(NARROW) or said == mark.group(), text
        assert all(said[mark.end() :].startswith(NARROW) for mark in re.finditer("«", said)), text
        assert "'" not in said, text


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


def test_a_saved_page_keeps_the_answers_to_a_teachers_sentences(tiny_run, tmp_path):
    lessons = tmp_path / "lessons.txt"
    lessons.write_text("Le chat dort.\tLe chat dorment.\n\nLes chiens …\n", encoding="utf-8")
    where = ["page", "--run", str(tiny_run.folder), "--save", str(tmp_path / "given")]
    done = answered(*where, "--sentences", str(lessons))
    page = (tmp_path / "given" / "index.html").read_text(encoding="utf-8")
    kept = json.loads(page.partition('id="kept">')[2].partition("</script>")[0])
    assert [each["state"]["text"] for each in kept["examples"]] == ["Le chat dort.", "Les chiens …"]
    assert kept["examples"][0]["state"]["at"] == 2
    asked = {json.loads(question)["ask"] for question in kept["answers"]}
    assert asked == {"about", "card", "read", "expect", "place", "readings", "check", "write"}
    off = '{"ask":"read","model":"ll-rnn","text":"Le chat dort.","off":["Number"],"context":""}'
    assert len(kept["answers"][off]["words"]) == 5

    for texts, said in (("\n", "found none"), ("a\tb\tc\n", "line 1: expected one or two")):
        lessons.write_text(texts, encoding="utf-8")
        done = invoked(*where, "--sentences", str(lessons))
        assert done.exit_code != 0
        assert said in done.stderr
    done = invoked(*where)
    assert "expected both --save FOLDER and --sentences FILE" in done.stderr


# A shell that starts the tests in the background has them ignore interrupts; the page does not.
ENDLESS = """
import re, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from accord.pipeline.cli.main import app
from accord.pipeline.page.answers import AskedModel

read = AskedModel.read

def endless(model, text: str):
    if text == "endless":
        print("asked", flush=True)
        re.match("(?:a|a)*b", "a" * 99)  # of which no other thread gets a turn
    return read(model, text)

AskedModel.read = endless
app(sys.argv[1:])
"""


def test_an_interrupt_ends_it_at_once_whatever_is_being_answered(tiny_run):
    command = ["page", "--run", str(tiny_run.folder), "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, *command], stdout=subprocess.PIPE, text=True
    ) as page:
        try:
            address = urlsplit(page.stdout.readline().split(" ")[0]).netloc
            question = {"ask": "read", "model": "ll-rnn", "text": "endless"}
            connection = http.client.HTTPConnection(address)
            threading.Thread(target=_ask, args=(connection, question), daemon=True).start()
            assert page.stdout.readline() == "asked\n"
            page.send_signal(signal.SIGINT)
            assert page.wait(timeout=2) == -signal.SIGINT
        finally:
            page.kill()


def _ask(connection: http.client.HTTPConnection, question: dict) -> None:
    kind = {"Content-Type": "application/json"}
    connection.request("POST", "/ask", json.dumps(question), kind)
