"""`accord page`: which models it offers, what it says where there are none, and how it ends."""

import http.client
import json
import signal
import subprocess
import sys
import threading
from urllib.parse import urlsplit

from typer.testing import CliRunner

from accord.pipeline.cli.main import app


def test_a_saved_page_keeps_the_answers_to_a_teachers_sentences(tiny_run, tmp_path):
    lessons = tmp_path / "lessons.txt"
    lessons.write_text("Le chat dort.\tLe chat dorment.\n\nLes chiens …\n", encoding="utf-8")
    where = ["page", "--run", str(tiny_run.folder), "--save", str(tmp_path / "given")]
    done = CliRunner().invoke(app, [*where, "--sentences", str(lessons)])
    assert done.exit_code == 0, done.stderr
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
        done = CliRunner().invoke(app, [*where, "--sentences", str(lessons)])
        assert done.exit_code != 0
        assert said in done.stderr
    done = CliRunner().invoke(app, where)
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
