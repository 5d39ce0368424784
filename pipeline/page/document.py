"""The page: one document that needs nothing beside it, and what its browser may do with it."""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from accord.pipeline.prepared.special_words import END

PARTS = ("labels.js", "state.js", "charts.js", "terms.js", "page.js")  # of its script, in order


def document(models: Sequence[str]) -> str:
    """The page for some models, which it names; the first is asked at first."""
    given = {
        "models": list(models),
        "end": END,
        "examples": json.loads(_text("examples.json")),
        **json.loads(_text("labels.json")),
    }
    return Template(_text("page.html")).substitute(
        policy=policy(), style=_style(), script=_script(), given=_in_html(given)
    )


def policy() -> str:
    """The Content-Security-Policy: this style, this script, questions to this server, no more."""
    return (
        f"default-src 'none'; script-src {_hash(_script())}; style-src {_hash(_style())}; "
        f"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _style() -> str:
    return _text("page.css")


def _script() -> str:
    return "".join(_text(name) for name in PARTS)


def _in_html(value: object) -> str:
    """JSON that ends no script element."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _text(name: str) -> str:
    return (files("accord.pipeline.page") / name).read_text(encoding="utf-8")
