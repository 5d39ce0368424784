"""How much there is to read: files and lines, commands, and the files on three paths.

A file is on a path if a function of it runs there; the code at the top of a module does not count.
Each path is traced in a process of its own that has the code of one checkout alone, and finds its
modules by what they define: so two checkouts can be compared before and after files move.
"""

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType

HERE = Path(__file__).resolve().parents[1]
PACKAGES = ("corpora", "lexicon", "models", "pipeline", "zoo", "accord")
CORE = "phi background ngrams log_linear encoder model train recipe"  # files of models/
SENTENCE = "La petite fille mange une pomme."
LEXICONS = ("closed", "tiny", "guesser")  # which need no data


def lines(root: Path, paths: list[Path]) -> int:
    return sum(len((root / path).read_text(encoding="utf-8").splitlines()) for path in paths)


def sources(root: Path, folder: str) -> list[Path]:
    """List the modules of a folder; links to other folders are not followed."""
    return sorted(path.relative_to(root) for path in (root / folder).rglob("*.py"))


def figures(root: Path) -> dict[str, int]:
    """Count files and lines of a checkout, its commands, and the files on the three paths."""
    counts = {}
    packages = {folder: sources(root, folder) for folder in PACKAGES}
    packages["all packages"] = [path for paths in packages.values() for path in paths]
    core = [Path("models", f"{name}.py") for name in CORE.split()]
    packages["core"] = [path for path in core if (root / path).is_file()]
    packages["tests"] = sources(root, "tests")
    for name, paths in packages.items():
        counts[f"{name}: files"], counts[f"{name}: lines"] = len(paths), lines(root, paths)
    return counts | {name: len(traced(root, name)) for name in PATHS}


def traced(root: Path, name: str) -> list[str]:
    """Run a path in a process that has this checkout's code alone; return its files."""
    done = subprocess.run(
        [sys.executable, "-P", __file__, str(root), name],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{root}: expected to trace {name}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])  # after what the path itself prints


class Trace:
    """The files of a checkout in which functions run while it is on."""

    def __init__(self, root: Path):
        self.root, self.ran = root, set()

    def start(self) -> None:
        threading.setprofile(self._add)
        sys.setprofile(self._add)

    def stop(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _add(self, frame: FrameType, event: str, _: object) -> None:
        # Functions have the flag; bodies of modules and classes have not.
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            self.ran.add(frame.f_code.co_filename)

    def files(self) -> list[str]:
        paths = [Path(name).resolve() for name in self.ran if not name.startswith("<")]
        inside = [path.relative_to(self.root) for path in paths if self.root in path.parents]
        return sorted(str(path) for path in inside if path.parts[0] in PACKAGES)


def commands(root: Path, trace: Trace) -> None:
    """List every command of the command line."""
    from typer.main import get_command

    def names(command: object, path: str) -> list[str]:
        if not hasattr(command, "list_commands"):
            return [path]
        inner = {name: command.get_command(None, name) for name in command.list_commands(None)}
        return [name for key, inside in inner.items() for name in names(inside, f"{path} {key}")]

    app = import_module("accord.pipeline.cli.main").app
    trace.files = lambda: names(get_command(app), "accord")


def scoring(root: Path, trace: Trace) -> None:
    """Run `accord score` of a sentence by the bundled model, from its first import to its end."""
    sys.argv = ["accord", "score", SENTENCE]
    trace.start()
    try:
        import_module("accord.pipeline.cli.main").program()
    except SystemExit as done:
        if done.code:
            raise
    trace.stop()


def training_step(root: Path, trace: Trace) -> None:
    """Run the second step of the LL-RNN of `tiny`: it begins and ends as an optimiser's step."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    import accord

    steps = 0

    def after_step(*_: object) -> None:
        nonlocal steps
        steps += 1
        trace.start() if steps == 1 else trace.stop()

    register_optimizer_step_post_hook(after_step)
    with tempfile.TemporaryDirectory() as runs:
        changes = {"train.epochs": 1}
        accord.run("tiny", set=changes, models=["ll-rnn"], until="train", runs=runs)


def phi_of_a_word(root: Path, trace: Trace) -> None:
    """Compute φ of a word, with lexicons that are opened for it."""

    def defining(function: str) -> object:
        texts = {path: (root / path).read_text(encoding="utf-8") for path in sources(root, "")}
        [path] = [
            path
            for path, text in texts.items()
            if path.parts[0] in PACKAGES and re.search(rf"^def {function}\(", text, re.MULTILINE)
        ]
        return import_module(".".join(("accord", *path.with_suffix("").parts)))

    load, folder_of = import_module("accord.lexicon").load, defining("folder_of").folder_of
    features_of = defining("features_of").features_of
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache  # where no lexicon is compiled yet
        trace.start()
        features_of("fille", load(LEXICONS, folder=folder_of))
        trace.stop()


PATHS: dict[str, Callable[[Path, Trace], None]] = {
    "commands": commands,
    "files that `accord score` runs through": scoring,
    "files that a training step runs through": training_step,
    "files that φ of a word runs through": phi_of_a_word,
}


def table(old_root: Path, new_root: Path) -> str:
    """Write the figures of two checkouts and their difference, in Markdown."""
    old, new = figures(old_root.resolve()), figures(new_root.resolve())
    rows = ["| | before | after | |", "| --- | ---: | ---: | ---: |"]
    for name, count in new.items():
        change = f"{100 * (count / old[name] - 1):+.0f} %" if old[name] else ""
        rows.append(f"| {name} | {old[name]:,} | {count:,} | {change} |")
    return "\n".join(rows)


if __name__ == "__main__":
    checkout = Path(sys.argv[1]).resolve()
    path = Trace(checkout)
    PATHS[sys.argv[2]](checkout, path)
    print(json.dumps(path.files()))
