"""How the code is laid out: its files, who imports whom, and how many files a reader must open.

A file is on a path if a function of it runs there; the code at the top of a module does not count.
Paths are traced in a process of their own with the checkout's code, whose modules are found by what
they define: so one command measures checkouts before and after files move.
"""

import ast
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from importlib import import_module
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

HERE = Path(__file__).resolve().parents[1]
PACKAGES = ("accord", "corpora", "lexicon", "models", "pipeline")
SENTENCE = "La petite fille mange une pomme."
CHAIN = ("closed", "tiny", "guesser")  # lexicons that need no data


class Checkout:
    """The modules of a checkout by name, parsed."""

    def __init__(self, root: Path):
        self.root = root.resolve()
        prefix = "accord." if (self.root / "accord").is_dir() else ""
        self.files: dict[str, Path] = {}
        for package in PACKAGES:
            for path in sorted((self.root / package).rglob("*.py")):
                parts = path.relative_to(self.root).with_suffix("").parts
                name = ".".join(parts).removesuffix(".__init__")
                self.files[name if package == "accord" else prefix + name] = path
        self.text = {name: path.read_text(encoding="utf-8") for name, path in self.files.items()}
        self.trees = {name: ast.parse(text) for name, text in self.text.items()}

    def imported(self, node: ast.AST) -> set[str]:
        """Our modules that a statement imports."""
        if isinstance(node, ast.Import):
            return {alias.name for alias in node.names} & self.files.keys()
        if isinstance(node, ast.ImportFrom) and node.module:
            children = {f"{node.module}.{alias.name}" for alias in node.names}
            return (children & self.files.keys()) or ({node.module} & self.files.keys())
        return set()

    def defining(self, name: str) -> str:
        """The one module that defines a class or function at its top."""
        (found,) = (
            module
            for module, tree in self.trees.items()
            if any(getattr(node, "name", None) == name for node in tree.body)
        )
        return found


def figures(checkout: Checkout) -> dict[str, int | float]:
    """What the sources show, without running any."""
    lines = [len(text.splitlines()) for text in checkout.text.values()]
    importers: Counter[str] = Counter()
    inside = 0
    packages = {name for name, path in checkout.files.items() if path.stem == "__init__"}
    for name, tree in checkout.trees.items():
        nodes = [*ast.walk(tree)]
        if name not in packages:  # whose own files only offer what their modules have
            importers.update(set().union(*map(checkout.imported, nodes)) - {name})
        functions = [each for each in nodes if isinstance(each, ast.FunctionDef)]
        within = {node for each in functions for node in ast.walk(each)}
        inside += sum(1 for node in within if checkout.imported(node))
    classes = Counter(
        node.name
        for tree in checkout.trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    (recipe,) = (
        node
        for node in checkout.trees[checkout.defining("Recipe")].body
        if getattr(node, "name", None) == "Recipe"
    )
    return {
        "files": len(lines),
        "lines": sum(lines),
        "median lines of a file": median(lines),
        "lines of the largest file": max(lines),
        "files under 50 lines": sum(1 for count in lines if count < 50),
        "modules with one importer": sum(
            1 for name in checkout.files.keys() - packages if importers[name] == 1
        ),
        "imports of our own modules inside functions": inside,
        "class names used twice": sum(1 for count in classes.values() if count > 1),
        "fields of Recipe": sum(1 for node in recipe.body if isinstance(node, ast.AnnAssign)),
    }


class Trace:
    """The files of a checkout in which functions run while it is on."""

    def __init__(self, root: Path):
        self.root, self.ran = root, set()

    def start(self) -> None:
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)

    def stop(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _seen(self, frame: FrameType, event: str, _: Any) -> None:
        # Functions have the flag; bodies of modules and classes have not.
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            self.ran.add(frame.f_code.co_filename)

    def files(self) -> list[str]:
        inside = [Path(name).resolve() for name in self.ran if not name.startswith("<")]
        packages = [self.root / package for package in PACKAGES]
        ours = {path for path in inside if any(package in path.parents for package in packages)}
        return sorted(str(path.relative_to(self.root)) for path in ours)


def scoring(checkout: Checkout, trace: Trace) -> None:
    """`accord score` of a sentence by the bundled model, from its first import to its end."""
    sys.argv = ["accord", "score", SENTENCE]
    trace.start()
    try:
        import_module(checkout.defining("program")).program()
    except SystemExit as done:
        if done.code:
            raise
    trace.stop()


def training_step(checkout: Checkout, trace: Trace) -> None:
    """The second step of a small LL-RNN: its batch is drawn, read, and the weights move."""
    names = ("Trainer", "LanguageModel", "Unigram", "Features", "Sentences", "Recipe")
    parts = {name: getattr(import_module(checkout.defining(name)), name) for name in names}
    import numpy as np  # after our packages, which say how torch's threads wait

    words = 20
    ids = np.random.default_rng(0).integers(1, words, size=(200, 10))
    ids[:, -1] = 0  # the end of a sentence
    text = parts["Sentences"](ids.reshape(-1), np.full(200, 10))
    features = parts["Features"].one_hot(words)
    recipe = parts["Recipe"](epochs=1, embedding=8, hidden=8, layers=1, batch=4, bptt=10)
    background = parts["Unigram"](features, np.ones(words))
    model = parts["LanguageModel"](recipe, features, background)
    steps = 0

    def on_step(_: int) -> None:
        nonlocal steps
        steps += 1
        if steps == 1:
            trace.start()
        elif steps == 2:
            trace.stop()

    with tempfile.TemporaryDirectory() as folder:
        parts["Trainer"](model, recipe, Path(folder), on_step).fit(text, text)


def phi_of_a_word(checkout: Checkout, trace: Trace) -> None:
    """φ of a word that nothing was asked of before, lexicons being opened for it."""
    package = next(name for name in checkout.files if name.removeprefix("accord.") == "lexicon")
    load = import_module(package).load
    folder_of = import_module(checkout.defining("folder_of")).folder_of
    features_of = import_module(checkout.defining("features_of")).features_of
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache  # where no lexicon is compiled yet
        trace.start()
        features_of("fille", load(CHAIN, folder=folder_of))
        trace.stop()


PATHS = {
    "files that `accord score` runs through": scoring,
    "files that a training step runs through": training_step,
    "files that φ of a word runs through, from cold": phi_of_a_word,
}


def path(root: Path, name: str) -> list[str]:
    """The files on a path, traced in a process that has this checkout's code alone."""
    done = subprocess.run(
        [sys.executable, "-P", __file__, str(root.resolve()), name],
        env={**os.environ, "PYTHONPATH": str(root.resolve())},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ValueError(f"{root}: expected to trace {name}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])  # after what the path itself prints


def table(roots: list[Path], names: bool = False) -> str:
    """The figures of checkouts side by side, in Markdown; below it, where asked, files by name."""
    columns, listed = [], []
    for root in roots:
        found = {name: path(root, name) for name in PATHS}
        columns.append(figures(Checkout(root)) | {name: len(each) for name, each in found.items()})
        listed += ["\n  ".join([f"\n{root}: {name}", *each]) for name, each in found.items()]
    lines = ["| | " + " | ".join(map(str, roots)) + " |", "| --- |" + " ---: |" * len(roots)]
    for name in columns[0]:
        lines.append(f"| {name} | " + " | ".join(f"{each[name]:,g}" for each in columns) + " |")
    return "\n".join(lines + (listed if names else []))


def main(root: str, name: str) -> None:
    trace = Trace(Path(root))
    PATHS[name](Checkout(Path(root)), trace)
    print(json.dumps(trace.files()))


if __name__ == "__main__":
    main(*sys.argv[1:])
