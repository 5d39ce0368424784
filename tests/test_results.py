"""What results/ says can be done again: its configurations load, and what it names is there."""

import html
import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from accord.pipeline.config.configuration import load_config

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "results").rglob("*.md"))
BLOCK = re.compile(r"^```yaml\n(base:.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_what_a_page_names_is_there(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    for number, block in enumerate(BLOCK.findall(text)):
        (tmp_path / f"{number}.yaml").write_text(block, encoding="utf-8")
        assert load_config(str(tmp_path / f"{number}.yaml")).models
    links = {page.parent / link for link in re.findall(r"\]\(([\w./-]+)\)", text)}
    files = {ROOT / path for path in re.findall(r"\btests/[\w/]+\.py", text)}
    modules = re.findall(r"python -m ((?:models|pipeline)(?:\.\w+)+)", text)
    assert [str(path) for path in links | files if not path.exists()] == []
    assert [name for name in modules if not _is_module(name)] == []


def _is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists()


def test_the_figures_are_those_of_the_tables():
    """`python results/figures.py` draws them anew."""
    place = spec_from_file_location("figures", ROOT / "results" / "figures.py")
    figures = module_from_spec(place)
    place.loader.exec_module(figures)
    for path, data in figures.DATA.items():
        found = re.search(r"<dc:description>(.+)</dc:description>", path.read_text("utf-8"))
        assert json.loads(html.unescape(found[1])) == data()
