"""The server answers its own page and nobody else's, and serves nothing but the page."""

import http.client
import json
import re
import socket
from pathlib import Path

import pytest

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
        with pytest.raises(OSError, match=f"127.0.0.1:{port}"):
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
