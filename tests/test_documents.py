"""README and docs/ tell the truth: commands run, outputs are real, links lead somewhere."""

import re
import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from accord.pipeline.stages.table import STAGES
from tests import documents
from tests.documents import PAGES, ROOT, Block, blocks, differences, read_page
from tests.reference import REFERENCE
from tests.systems import OTHERS, without_row

README = ROOT / "README.md"
LONGEST, MOST_LINES = 300, 120  # of README
ANEW = "`python -m tests.documents --write` writes it anew"
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]+))?\)")


def name(page: Path) -> str:
    return page.stem


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, slow) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    documents.prepare(folder)
    return folder


@pytest.fixture
def folder(prepared, tmp_path) -> Path:
    """A copy of what is prepared, so that no page finds what another one wrote."""
    return shutil.copytree(prepared, tmp_path / "page", symlinks=True)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_runs_and_prints_what_is_shown(page, folder, fetched):
    for block in blocks(page.read_text(encoding="utf-8")):
        for source in block.sources:
            fetched(source)
    with chdir(folder):
        for block, output in read_page(page):
            if block.output and block.is_the_same_everywhere:
                difference = differences(block.output.body, output)
                assert not difference, f"{block.body}\n{difference}\n{ANEW}"


@pytest.mark.parametrize("page", REFERENCE, ids=name)
def test_generated_pages_are_those_of_the_code(page):
    assert page.read_text(encoding="utf-8") == REFERENCE[page]()


def test_every_part_of_the_tables_has_a_row_among_the_systems():
    assert without_row() == [], "tests/data/systems.csv"
    for _, _, file, _ in OTHERS:
        assert (ROOT / file).is_file(), file


def test_readme_is_short():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > LONGEST] == []


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for path, anchor in LINK.findall(text):
        if path.startswith("http"):
            continue
        target = page.parent / path if path else page
        assert target.exists(), path
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{path}#{anchor}"


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in headings}


def test_the_site_lists_every_page():
    listed = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in PAGES if page != README)


def test_the_stages_are_those_of_the_code():
    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE)
    assert rows == [(stage.name, stage.help) for stage in STAGES.values()]


@pytest.mark.parametrize(
    "right",
    ["accord run tiny --seeds 3 \\\n  --models rnn", "accord suite make x --to y", "make run"],
)
def test_what_is_not_run_parses(right):
    documents.check_syntax(_block(f"# takes long\n{right}\n"))


@pytest.mark.parametrize(
    "wrong", ["accord runs tiny", "accord run tiny --sets a=b", "accord suite x", "make bread"]
)
def test_what_does_not_parse_is_found(wrong):
    with pytest.raises((AssertionError, documents.UsageError)):
        documents.check_syntax(_block(f"# takes long\n{wrong}\n"))


def test_a_number_may_differ_in_its_last_digit_only():
    assert differences("log p -3.21 of 5 words", "log p -3.22 of 5 words") is None
    assert differences("log p -3.21", "log p -3.23")
    assert differences("5 words", "6 words")
    assert differences("5 words", "5 words\nand more")


def _block(body: str) -> Block:
    return Block("sh", None, body, (0, len(body)), None)
