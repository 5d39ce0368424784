"""Habits that make code slow to read are counted; their numbers may fall and never rise."""

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.test_house import SOURCES, parsed

# Words that begin a noun phrase; a docstring of a function begins with a verb.
DETERMINERS = {
    *("a", "all", "an", "another", "any", "both", "each", "every", "how", "if", "no", "one"),
    *("others", "several", "some", "such", "that", "the", "their", "there", "these", "this"),
    *("those", "two", "what", "when", "where", "whether", "which", "whoever", "who", "why"),
}
VAGUE = {"after", "asked", "before", "each", "found", "given", "own", "said"}
PREPOSITIONS = {"apart", "at", "beside", "of", "on", "under"}
# The most that a habit may occur. Lower these when you mend some; do not raise them.
MOST = {"noun-phrase docstrings": 6, "vague names": 0, "prepositions as names": 0}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def habits(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield each habit of a module with its line and the word."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            words = (ast.get_docstring(node) or "").split()
            if words and words[0].strip("`,.:").lower() in DETERMINERS:
                yield "noun-phrase docstrings", node.lineno, words[0]
            if node.name.strip("_") in PREPOSITIONS:
                yield "prepositions as names", node.lineno, node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield "vague names", node.lineno, node.id
        elif isinstance(node, ast.arg) and node.arg in VAGUE:
            yield "vague names", node.lineno, node.arg


def counted() -> Counter[str]:
    return Counter(habit for path in SOURCES for habit, _, _ in habits(parsed(path)))


@pytest.mark.parametrize("habit", MOST)
def test_a_habit_does_not_spread(habit):
    places = [
        f"{path}:{line}: {word}"
        for path in SOURCES
        for kind, line, word in habits(parsed(path))
        if kind == habit
    ]
    assert len(places) <= MOST[habit], "\n".join(places)


def test_the_limits_are_those_of_today():
    """A limit above the count would let a habit come back."""
    assert counted() == {habit: most for habit, most in MOST.items() if most}


def test_a_planted_habit_is_counted():
    code = 'def of(found):\n    """The words."""\n    for each in found: pass\n'
    assert Counter(habit for habit, _, _ in habits(ast.parse(code))) == {
        "noun-phrase docstrings": 1,
        "vague names": 2,
        "prepositions as names": 1,
    }
