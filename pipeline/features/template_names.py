"""The names of templates as a person writes them, and which of them φ and ψ are made of.

Capitals do not count. What the lexicon says can be crossed: `pos×gender`, `pos*gender` and
`posxgender` are the same.
"""

import re
from collections.abc import Sequence, Set

from accord.lexicon.analysis import FEATURES
from accord.models.common.checks import expect
from accord.pipeline.display.nearest import nearest
from accord.pipeline.features import TEMPLATES

OF_ANALYSIS = ("pos", "source", "lemma")  # beside the features of the lexicon
OF_MEANING = re.compile("(class|cluster)-([1-9][0-9]{0,5})")  # of vectors, of the training text
VECTORS = "vectors"  # the dense features, and the one that says that there are none


def chosen(params, names: Sequence[str] | None) -> list[str]:
    """The templates of φ: all but those left out; leaving out one that is not there is a mistake.

    `names` are those of the lexicon's features; where they are not known, any name may be one.
    """
    templates = [_parsed(template, names, "templates") for template in params.templates]
    fields = {name for template in templates for name in template.split("×")}
    left_out = {name.lower() for name in params.without}
    for name in params.without:
        if name.lower().partition("=")[0] not in fields:
            valid = ", ".join(sorted(fields))
            raise ValueError(f"featurise.without: no template has '{name}'; there are {valid}")
    return [each for each in templates if not {*each.split("×")} & left_out]


def sides(params, names: Sequence[str] | None) -> tuple[Set[str], Set[str]]:
    """The templates of ψ and of φ: all, or those that `read` and `predict` name."""
    every = chosen(params, names)
    if params.vectors and params.vectors.dimensions:
        every.append(VECTORS)
    return _side(params.read, every, names, "read"), _side(params.predict, every, names, "predict")


def _side(
    named: Sequence[str] | None, every: Sequence[str], names: Sequence[str] | None, key: str
) -> Set[str]:
    if named is None:
        return {*every}
    side = {each if each == VECTORS else _parsed(each, names, key) for each in named}
    for template in sorted(side.difference(every)):
        raise ValueError(
            f"featurise.{key}: no '{template}' among the templates{nearest(template, every)}"
        )
    return side


def check(params, names: Sequence[str] | None) -> None:
    """Refuse what cannot be meant."""
    templates = chosen(params, names)
    for key, side in zip(("read", "predict"), sides(params, names), strict=True):
        key = "templates" if getattr(params, key) is None else key
        expect(f"featurise.{key}", bool(side), "one or more that are not left out", "none")
    needing = [each for each in templates if each.startswith("class-")]
    if needing and params.vectors is None:
        raise ValueError(
            f"featurise.templates: {needing[0]} needs word vectors, such as "
            f"featurise.vectors: {{source: spacy, dimensions: 0}}"
        )


def _parsed(template: str, names: Sequence[str] | None, key: str) -> str:
    """A template as φ names it; one that is not known is refused with the nearest."""
    template = template.lower()
    if template in TEMPLATES or OF_MEANING.fullmatch(template):
        return template
    known = [*OF_ANALYSIS, *(name.lower() for name in (FEATURES if names is None else names))]
    fields: list[str] = []
    for part in re.split(r"\s*[×*]\s*", template):
        parts = _parted_by_x(part, {*known})
        if parts is None and part != template and (part in TEMPLATES or OF_MEANING.fullmatch(part)):
            raise ValueError(
                f"featurise.{key}: expected fields of the lexicon in '{template}', found '{part}', "
                f"which stands alone"
            )
        if parts is None and names is not None:
            valid = [*TEMPLATES, *known, "class-100", "cluster-100"]
            raise ValueError(f"featurise.{key}: unknown template '{part}'{nearest(part, valid)}")
        fields += parts or [part]
    return "×".join(fields)


def _parted_by_x(text: str, names: Set[str]) -> list[str] | None:
    """The names in a text such as `genderxnumber`; nothing if it holds others."""
    if text in names:
        return [text]
    for place in (place for place, letter in enumerate(text) if letter == "x"):
        if text[:place] in names and (others := _parted_by_x(text[place + 1 :], names)):
            return [text[:place], *others]
    return None
