"""Fetching: by pip from a local folder of wheels, from a local repository, and its refusals."""

import hashlib
import json
import lzma
import socket
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from accord.corpora.formats import read_orangesum, read_paragraphs
from accord.corpora.sources import Repository
from accord.pipeline.data import catalogue
from accord.pipeline.data.fetch import FetchError, fetch, git_blob_id

TEXT = "un mot\tune définition\n".encode()
MORE = bytes(range(7))
LICENCES = ("CC BY", "LGPL", "Apache", "MIT", "public domain", "open data")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCORD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


@pytest.fixture
def wheel(tmp_path, monkeypatch, slow):
    """A real wheel in a folder that pip is told to look in, and nowhere else."""
    path = tmp_path / "wheels" / "small_data-1.0-py3-none-any.whl"
    path.parent.mkdir()
    metadata = "Metadata-Version: 2.1\nName: small-data\nVersion: 1.0\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small_data/words.tsv", TEXT)
        archive.writestr("small_data/more.bin", MORE)
        archive.writestr("small_data-1.0.dist-info/METADATA", metadata)
        archive.writestr(
            "small_data-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"
        )
        archive.writestr("small_data-1.0.dist-info/RECORD", "")
    for name, value in {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(path.parent),
        "PIP_CONFIG_FILE": "/dev/null",
    }.items():
        monkeypatch.setenv(name, value)
    entry = catalogue.Wheel(
        requirement="small-data==1.0",
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        licence="MIT",
        members={"small_data/words.tsv": "words.tsv", "small_data/more.bin": "more"},
    )
    monkeypatch.setitem(catalogue.SOURCES, "small", entry)
    return entry


def git(repository: Path, *command: str) -> str:
    """What git prints in a repository of this machine."""
    named = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", *command]
    done = subprocess.run(named, cwd=repository, check=True, capture_output=True)
    return done.stdout.decode().strip()


def committed(repository: Path) -> str:
    """Make a folder a repository that gives parts of itself away; the name of its commit."""
    git(repository, "init", "-q")
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    return git(repository, "rev-parse", "HEAD")


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines()]


def left(home) -> list[str]:
    """What lies in the data folder, locks aside."""
    return [path.name for path in home.iterdir() if path.suffix != ".lock"]


def test_every_source_has_an_origin_and_a_licence():
    for name, source in catalogue.SOURCES.items():
        assert source.origin and source.licence.startswith(LICENCES), name


def test_a_wheel_is_read_into_its_folder(home, wheel):
    assert fetch("small") == home / "small"
    assert (home / "small" / "words.tsv").read_bytes() == TEXT
    assert (home / "small" / "more").read_bytes() == MORE
    assert left(home) == ["small"]
    assert catalogue.folder_of("small") == home / "small"


def test_a_wrong_hash_is_refused_and_leaves_nothing(home, wheel, monkeypatch):
    monkeypatch.setitem(catalogue.SOURCES, "small", replace(wheel, sha256="0" * 64))
    with pytest.raises(FetchError, match="expected the hash 0000"):
        fetch("small")
    assert left(home) == []


def test_what_cannot_be_downloaded_says_which_command_to_run(home, wheel, monkeypatch):
    monkeypatch.setitem(catalogue.SOURCES, "small", replace(wheel, requirement="no-such-data==1.0"))
    with pytest.raises(FetchError, match="Online, run `accord fetch small`"):
        fetch("small")
    assert left(home) == []


def test_a_repository_is_checked_by_git_blob_ids(home, tmp_path, monkeypatch):
    release = tmp_path / "repository" / "raw" / "r1"
    release.mkdir(parents=True)
    (release / "a.conllu").write_bytes(TEXT)
    url = (tmp_path / "repository").as_uri()
    good = Repository(url, "r1", {"a.conllu": git_blob_id(TEXT)}, "MIT")
    monkeypatch.setitem(catalogue.SOURCES, "bank", good)
    assert (fetch("bank") / "a.conllu").read_bytes() == TEXT

    (release / "a.conllu").write_bytes(TEXT + b"!")
    with pytest.raises(FetchError, match=r"a\.conllu is not what the catalogue says"):
        fetch("bank")
    assert (home / "bank" / "a.conllu").read_bytes() == TEXT, "the good copy stays"

    monkeypatch.setitem(catalogue.SOURCES, "bank", replace(good, tag="r2"))
    with pytest.raises(FetchError, match="could not download"):
        fetch("bank")


@pytest.fixture
def articles(tmp_path, monkeypatch):
    """A repository of this machine with two commits, of which the first has the articles."""
    repository = tmp_path / "news"
    (repository / "docs" / "parsed").mkdir(parents=True)
    for number in (10, 9):
        article = {"title": "Été", "heading": "H.", "article": f"Article {number}.", "date": ""}
        text = json.dumps(article, indent=4, ensure_ascii=False)
        (repository / "docs" / "parsed" / f"{number}.json").write_text(text, encoding="utf-8")
    (repository / "docs" / "large.bin").write_bytes(b"x" * 100_000)
    commit = committed(repository)
    git(repository, "rm", "-q", "docs/parsed/9.json")
    git(repository, "commit", "-qm", "one less")
    entry = catalogue.Checkout(
        {repository.as_uri(): commit}, "docs/parsed", "articles.jsonl.xz", "MIT", "articles"
    )
    monkeypatch.setitem(catalogue.SOURCES, "news", entry)
    return entry


def test_articles_are_fetched_by_git_into_one_file_by_their_numbers(home, articles):
    path = fetch("news") / "articles.jsonl.xz"
    found = lines_of(path)
    articles = [(article["id"], article["article"]) for article in found]
    assert articles == [(9, "Article 9."), (10, "Article 10.")]
    texts = [sentence.text for sentence in read_orangesum(path)]
    assert texts == ["H.", "Article 9.", "H.", "Article 10."]
    assert left(home) == ["news"]


NOVEL = """<TEI xmlns="http://www.tei-c.org/ns/1.0" xml:id="FRA1">
<teiHeader><fileDesc><titleStmt><title>{title} : édition ELTeC</title><author>{author}</author>
</titleStmt><sourceDesc><bibl type="firstEdition"><date>1860</date></bibl></sourceDesc>
</fileDesc></teiHeader>
<text><front><div><p>Une préface.</p></div></front><body><div><head>I</head>
<p>Il   entra<ref target="#n1">1</ref> dans la
salle<note>Une note.</note>.</p><p>Elle le</p><pb n="2"/><p>regarda longtemps.</p>
<p>— Venez !</p></div></body></text></TEI>"""


@pytest.fixture
def novels(tmp_path, monkeypatch):
    """Two repositories of this machine. The second has a novel of the first again."""
    commits = {}
    for name, titles in {"one": ["Mon village"], "two": ["Mon Village", "La mare"]}.items():
        repository = tmp_path / name
        (repository / "level1").mkdir(parents=True)
        for title in titles:
            text = NOVEL.format(title=title, author="Sand, George (1804-1876)")
            (repository / "level1" / f"{title}.xml").write_text(text, encoding="utf-8")
        commits[repository.as_uri()] = committed(repository)
    entry = catalogue.Checkout(commits, "level1", "novels.jsonl.xz", "public domain", "novels")
    monkeypatch.setitem(catalogue.SOURCES, "novels", entry)
    return entry


def test_novels_have_their_paragraphs_without_notes_and_page_breaks(home, novels):
    path = fetch("novels") / novels.file
    found = lines_of(path)
    assert [novel["title"] for novel in found] == ["Mon village", "La mare"]
    assert (found[0]["id"], found[0]["year"]) == ("FRA1", 1860)
    expected = ["Il entra dans la salle.", "Elle le regarda longtemps.", "— Venez !"]
    assert found[0]["text"].split("\n") == expected
    sentences = [(each.document, each.text) for each in read_paragraphs(path)]
    assert sentences[:3] == [("FRA1", text) for text in expected]
    assert left(home) == ["novels"]


def test_a_read_only_data_folder_is_used_and_not_written(home, wheel, tmp_path):
    home.mkdir()
    home.chmod(0o555)
    assert fetch("small") == tmp_path / "cache" / "accord" / "data" / "small"
    assert left(home) == []


def test_what_a_killed_fetch_left_is_cleared_away(home, wheel):
    left_over = home / ".fetch-small-killed" / "small"
    left_over.mkdir(parents=True)
    (left_over / "words.tsv").write_bytes(TEXT[:5])
    fetch("small")
    assert left(home) == ["small"]


def test_an_endless_download_is_stopped(home, tmp_path, monkeypatch):
    release = tmp_path / "repository" / "raw" / "r1"
    release.mkdir(parents=True)
    (release / "a.conllu").write_bytes(TEXT)
    monkeypatch.setattr("accord.pipeline.data.fetch.MOST_BYTES", len(TEXT) - 1)
    bank = Repository((tmp_path / "repository").as_uri(), "r1", {"a.conllu": None}, "MIT")
    monkeypatch.setitem(catalogue.SOURCES, "bank", bank)
    with pytest.raises(FetchError, match="expected at most"):
        fetch("bank")
    assert left(home) == []


def test_a_server_that_says_nothing_is_given_up(home, monkeypatch):
    monkeypatch.setattr("accord.pipeline.data.fetch.SILENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        bank = Repository(
            f"http://127.0.0.1:{silent.getsockname()[1]}", "r1", {"a.conllu": None}, "MIT"
        )
        monkeypatch.setitem(catalogue.SOURCES, "bank", bank)
        with pytest.raises(FetchError, match=r"could not download .*timed out"):
            fetch("bank")
    assert left(home) == []
