"""Formats of single corpora: tables, JSON lines, the French Wiktionary, OrangeSum, the hub.

Data sets of the Hugging Face hub are streamed: `hub:ID[:CONFIG][#COLUMN]`. One with a column
`tokens` is read as a treebank, unless a text column is named; any other by its column `text`, or
the one named, each line of it one sentence. An example is a document.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from accord.corpora.segment import segment
from accord.corpora.text import CorpusError, Sentence, TreebankRow, Unwanted, numbered, parse_line

# The text is in this column; every other column is a label (topic, genre, source) by its name, and
# an empty cell is none. The column `document`, where there is one, also names the document.
TEXT, DOCUMENT = "text", "document"


def read_tsv(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """Yield a sentence for every line after the header. Tabs separate columns; no quotes."""
    names: list[str] = []
    for number, line in numbered(path):
        cells = [cell.strip() for cell in line.removeprefix("\ufeff").rstrip("\r\n").split("\t")]
        place = f"{path}, line {number}"
        if names and len(cells) != len(names):
            raise CorpusError(f"{place}: expected {len(names)} columns, found {len(cells)}")
        if names:
            yield _sentence(dict(zip(names, cells, strict=True)), path, number, split)
        elif TEXT not in cells or len({*cells}) < len(cells):
            raise CorpusError(
                f"{place}: expected a header of columns that differ, one of them '{TEXT}'; "
                f"found {', '.join(cells)}"
            )
        names = names or cells


def read_jsonl(
    path: Path, split: str | None = None, among: range | None = None
) -> Iterator[Sentence]:
    """Yield a sentence for every line, an object with `text`; lists and objects are no labels."""
    for number, row in _objects(path, among, {TEXT: str}):
        simple = {k: str(v).strip() for k, v in row.items() if isinstance(v, str | int | float)}
        yield _sentence(simple, path, number, split)


def _sentence(row: Mapping[str, str], path: Path, number: int, split: str | None) -> Sentence:
    text = row[TEXT].strip()
    if not text:
        raise CorpusError(f"{path}, line {number}: expected a sentence in '{TEXT}', found none")
    labels = tuple((name, value) for name, value in row.items() if name != TEXT and value)
    document = row.get(DOCUMENT) or None
    return Sentence(f"{path.name}:{number}", text, None, split, labels, document)


# "Relatif à l'Allemagne", "Relatif à Paris": thousands of lines of one pattern and a proper name.
UNWANTED_OPENING = "Relatif à"
FEWEST_WORDS = 10
# Remains of the wiki in some definitions: images (`vignette|120px|Armoiries`), links, templates,
# formulas in TeX, tags, entities, addresses, categories, and signs of lists.
MARKUP = re.compile(
    r"[|{}\\]|\[\[|\]\]|''|<[!/A-Za-z]|&#?\w+;|//\w|www\.|\bthumb\b"
    r"|(?:Catégorie|Fichier|File|Image):|\A[#*:;]"
)


def read_wiktionnaire(path: Path, split: str | None = None) -> Iterator[Sentence | Unwanted]:
    """Yield definitions of the French Wiktionary, of lines `headword<TAB>gloss | gloss | …`.

    Only definitions that are worth learning from are kept, each text once, in the order of the
    file.
    """
    seen = set()
    for number, line in numbered(path):
        headword, tab, glosses = line.rstrip("\r\n").partition("\t")
        if not tab or not headword or "\t" in glosses:
            raise CorpusError(f"{path}, line {number}: expected headword, tab, glosses: {line!r}")
        if headword != headword.lower():  # a name, or a form of one
            continue
        for position, gloss in enumerate(glosses.split(" | "), start=1):
            text = gloss.strip()
            if len(text.split()) < FEWEST_WORDS:
                yield Unwanted(f"fewer than {FEWEST_WORDS} words")
            elif text.startswith(UNWANTED_OPENING):
                yield Unwanted(f"{UNWANTED_OPENING} …")
            elif MARKUP.search(text):
                yield Unwanted("wiki markup")
            elif text in seen:
                yield Unwanted("repeated")
            else:
                seen.add(text)
                name = f"{headword}:{number}.{position}"
                yield Sentence(name, text, split=split, document=headword)


ARTICLE_PARTS = ("heading", "article")
ARTICLE: Mapping[str, type] = {"id": int, **dict.fromkeys(ARTICLE_PARTS, str)}
# From the first word on: a search would try each letter of a text without a stop.
COMPLETE = re.compile(r"""\W*\w.*[.!?…][\s»”"')\]]*\Z""", re.DOTALL)
# The initials of the writers, at the end of an agency's dispatch: `burs-kd-ot/ber/roc`.
SIGNATURE = re.compile(r"""(?<=[.!?"»)])\s?[a-z]{1,5}(?:-[a-z]{1,5})*(?:/[a-z]{1,5})+\s*\Z""")


def read_orangesum(
    path: Path, split: str | None = None, among: range | None = None
) -> Iterator[Sentence | Unwanted]:
    """Yield the sentences of French news in JSON lines, named by article and position in it.

    Of each article its heading (a lead of one to three sentences) and its text are read. Paragraphs
    without a final stop are left out: titles, headings, captions of films, lists.
    """
    for _, article in _objects(path, among, ARTICLE):
        texts = (SIGNATURE.sub("", article[part]) for part in ARTICLE_PARTS)
        sentences = chain.from_iterable(map(segment, texts))
        yield from _of_document(str(article["id"]), sentences, split, COMPLETE)


# A sentence before direct speech ends in a colon.
COMPLETE_IN_NOVELS = re.compile(rf"{COMPLETE.pattern}|\W*\w.*:\Z", re.DOTALL)
DASHES = re.compile(r"\A(?:--|–)(?=\s)")  # before speech, as some novels have them


def read_paragraphs(
    path: Path, split: str | None = None, among: range | None = None
) -> Iterator[Sentence | Unwanted]:
    """Yield the sentences of novels or sheets: `id`, and in `text` a paragraph a line.

    Sentences are named by their document and their position in it. Paragraphs without a final stop
    are left out: titles, items of lists.
    """
    for _, document in _objects(path, among, {"id": str, "text": str}):
        sentences = chain.from_iterable(map(segment, document["text"].split("\n")))
        dashed = (DASHES.sub("—", sentence) for sentence in sentences)
        yield from _of_document(document["id"], dashed, split, COMPLETE_IN_NOVELS)


def _of_document(
    name: str, sentences: Iterator[str], split: str | None, complete: re.Pattern
) -> Iterator[Sentence | Unwanted]:
    for position, text in enumerate(sentences, start=1):
        if complete.match(text):
            yield Sentence(f"{name}.{position}", text, split=split, document=name)
        else:
            yield Unwanted("no stop at its end")


def _objects(
    path: Path, among: range | None, keys: Mapping[str, type]
) -> Iterator[tuple[int, dict]]:
    """Yield the JSON object of each line, which has these keys, with its number."""
    for number, line in numbered(path, among):
        place = f"{path}, line {number}"
        try:
            document = parse_line(line)
        except ValueError as error:
            raise CorpusError(f"{place}: expected an object in JSON, but {error}") from None
        if not isinstance(document, dict):
            raise CorpusError(f"{place}: expected an object in JSON, found {line[:60]!r}")
        for key, kind in keys.items():
            if type(document.get(key)) is not kind:
                value = repr(document[key])[:60] if key in document else "none"
                raise CorpusError(f"{place}: expected {key!r} to be {kind.__name__}, found {value}")
        yield number, document


# Readers for which every line stands by itself, so that several processes can read one file.
LINE_BY_LINE = (read_jsonl, read_orangesum, read_paragraphs)

HUB = "hub:"
SPLITS = {"validation": "valid"}  # the hub's name -> ours; any other is kept
ID_COLUMNS = ("sent_id", "idx", "id")


def saved_folder(source: str) -> Path | None:
    """Return the folder of a data set that `save_to_disk` wrote; None for another source."""
    folder = Path(source.partition("#")[0]).expanduser()
    names = ("dataset_dict.json", "state.json")
    return folder if any((folder / name).is_file() for name in names) else None


class Address(NamedTuple):
    id: str
    config: str | None
    column: str | None


def hub_address(source: str) -> Address:
    """Split `hub:universal-dependencies/universal_dependencies:fr_gsd#text` into its parts."""
    place, _, column = source.removeprefix(HUB).partition("#")
    id, _, config = (place, "", "") if saved_folder(source) else place.partition(":")
    if not id:
        raise CorpusError(f"{source!r}: expected hub:ID, hub:ID:CONFIG or hub:ID:CONFIG#COLUMN")
    return Address(id, config or None, column or None)


def read_hub(source: str, limit: int | None = None) -> Iterator[Sentence]:
    """Stream the sentences of every split. If there is a single split, the pipeline divides it.

    `limit` counts training sentences. When it is reached, the download stops.
    """
    address, saved = hub_address(source), saved_folder(source)
    splits = load_hub(address) if saved is None else load_saved(saved)
    for name, examples in splits.items():
        split = SPLITS.get(name, name) if len(splits) > 1 else None
        sentences = chain.from_iterable(
            _hub_sentences(example, f"{name}:{number}", split, address)
            for number, example in enumerate(examples)
        )
        yield from islice(sentences, limit if split in (None, "train") else None)


def load_saved(folder: Path) -> Mapping[str, object]:
    """Open a data set on disk; one without splits is all to be trained on."""
    import datasets

    saved = datasets.load_from_disk(str(folder))
    return saved if isinstance(saved, datasets.DatasetDict) else {"train": saved}


def load_hub(address: Address) -> Mapping[str, object]:
    """Open the data set's splits without downloading them."""
    import datasets  # here, because it takes seconds and most runs read no hub data set

    try:
        return datasets.load_dataset(address.id, address.config, streaming=True)
    except (datasets.exceptions.DatasetsError, OSError, ValueError, RuntimeError) as error:
        config = f" with configuration {address.config}" if address.config else ""
        raise CorpusError(
            f"the hub data set {address.id}{config} cannot be opened: {str(error).strip()}"
        ) from error


def _hub_sentences(
    example: dict, place: str, split: str | None, address: Address
) -> Iterator[Sentence]:
    name = next((str(example[key]) for key in ID_COLUMNS if example.get(key) is not None), place)
    document = str(example.get("document") or name)
    if address.column is None and isinstance(example.get("tokens"), list):
        rows = tuple(_treebank_rows(example))
        text = example.get("text") or " ".join(row.form for row in rows if row.kind != "part")
        yield Sentence(name, text, rows, split, _labels(example), document)
        return
    column = address.column or "text"
    if not isinstance(example.get(column), str):
        raise CorpusError(
            f"the data set {address.id} has no text column {column!r}: "
            f"expected one of {', '.join(example)}, as in {address.id}#COLUMN"
        )
    for number, line in enumerate(example[column].splitlines()):
        if line.strip():
            place = f"{name}.{number}" if number else name
            yield Sentence(place, line.strip(), None, split, _labels(example, column), document)


def _labels(example: dict, text: str = "text") -> tuple[tuple[str, str], ...]:
    """Return the other columns of an example that hold words or whole numbers."""
    simple = {name: value for name, value in example.items() if isinstance(value, str | int)}
    return tuple((name, str(value)) for name, value in simple.items() if name != text)


def _treebank_rows(example: dict) -> Iterator[TreebankRow]:
    """Yield the rows of one tree in either form that the hub's treebanks have.

    Newer ones keep contractions apart, as `mwt: [{id: "8-9", form: "des"}]`. In older ones a
    contraction is a token without a head, before the two words that it contracts.
    """
    heads = example.get("head") or [0] * len(example["tokens"])
    contracted = {}
    for token in example.get("mwt") or ():
        first, _, last = token["id"].partition("-")
        contracted[int(first)] = (int(last), token["form"])
    word = last_part = 0
    for form, head in zip(example["tokens"], heads, strict=True):
        if head in (None, "None"):
            last_part = word + 2
            yield TreebankRow(form, "contracted")
            continue
        word += 1
        if word in contracted:
            last_part, surface = contracted[word]
            yield TreebankRow(surface, "contracted")
        yield TreebankRow(form, "part" if word <= last_part else "word")
