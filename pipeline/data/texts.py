"""Turn fetched files into JSON lines: one object per document, its paragraphs in `text`."""

import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

TEI = "{http://www.tei-c.org/ns/1.0}"
XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
NOT_TEXT = {f"{TEI}note", f"{TEI}ref"}  # footnotes and their marks
# A paragraph that continues after a page break: it begins in lower case, and the one before has no
# stop.
SMALL = re.compile(r"[a-zß-öø-ÿœ]")
UNFINISHED = re.compile(r"""[^.!?…:;»”"]\Z""")


def articles(folder: Path) -> Iterator[dict[str, Any]]:
    """Articles of news, a JSON file each, by their numbers, which are the files' names."""
    paths = {int(path.stem): path for path in folder.glob("*.json")}
    for number in sorted(paths):
        yield {"id": number, **json.loads(paths[number].read_text(encoding="utf-8"))}


def novels(folders: Iterable[Path]) -> Iterator[dict[str, Any]]:
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


def sheets(archive: Path) -> Iterator[dict[str, Any]]:
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
