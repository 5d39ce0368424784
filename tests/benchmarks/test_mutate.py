"""The list of mutations fits the code that it changes, and the first test that fails is found."""

import ast
from collections import Counter

import pytest

from benchmarks.mutate import first_failure
from benchmarks.mutations import HERE, MUTATIONS, TESTS, Mutation, noticing_tests


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda it: f"{it.file}: {it.mistake}")
def test_a_mutation_changes_what_stands_once_in_its_file(mutation):
    assert mutation.line() > 0
    text = (HERE / mutation.file).read_text(encoding="utf-8")
    changed = ast.dump(ast.parse(text.replace(mutation.right, mutation.wrong)))
    assert changed != ast.dump(ast.parse(text))


def test_there_are_fifty_or_more_and_every_file_has_tests():
    assert len({*MUTATIONS}) == len(MUTATIONS) >= 50
    assert {mutation.file for mutation in MUTATIONS} == TESTS.keys()
    assert all(noticing_tests(file) for file in TESTS), "each is there, under its name of today"
    assert max(Counter(mutation.mistake for mutation in MUTATIONS).values()) == 1


def test_a_text_that_is_not_there_or_there_twice_is_an_error(tmp_path):
    (tmp_path / "code.py").write_text("a = b = 1\n\nc = a\n")
    assert Mutation("code.py", "another", "c = a", "c = b").line(tmp_path) == 3
    for text, times in (("d = 1", 0), ("a", 2)):
        with pytest.raises(ValueError, match=f"expected '{text}' once, found it {times} times"):
            Mutation("code.py", "another", text, "").line(tmp_path)


@pytest.mark.slow
def test_the_first_test_that_fails_is_named_whatever_follows(tmp_path):
    (tmp_path / "right.py").write_text("def test_right():\n    assert True\n")
    (tmp_path / "wrong.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('word', ['a b', 'c'])\n"
        "def test_wrong(word):\n    assert word == 'c', 'a - b'\n"
    )
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    assert first_failure(tmp_path, ["right.py", "wrong.py"]) == "wrong.py::test_wrong[a b]"
    assert first_failure(tmp_path, ["right.py", "broken.py"]) == "broken.py"
