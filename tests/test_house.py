"""The order of packages, the size of modules, and what may be imported where."""

import ast
import configparser
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("accord", "corpora", "lexicon", "models", "pipeline", "zoo")
LINKED = PACKAGES[1:]  # folders that are imported as accord.NAME
SOURCES = sorted(path for name in PACKAGES for path in (ROOT / name).glob("**/*.py"))
ONLY_TRAINING = {"torch", "numpy", "safetensors"}

# A package imports only packages to its left; (top) stands for the modules beside them.
ORDER = {
    "models": "common (top)",
    "pipeline": "base (top) config data model ask stages run page study integrations cli",
}


@cache
def tree(text: str) -> ast.Module:
    return ast.parse(text)


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file; one tree serves all copies of it."""
    return tree(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def modules_of(root: Path) -> dict[str, Path]:
    """Every module by its dotted name, the linked folders as accord.NAME."""
    found = {"accord": root / "accord" / "__init__.py"}
    for folder in LINKED:
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(("accord", *parts)).removesuffix(".__init__")] = path
    return found


def arrows(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Which modules each imports, anywhere in its text, also for types alone."""
    found = {}
    for name, path in modules.items():
        wanted = set()
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                children = {f"{node.module}.{alias.name}" for alias in node.names}
                wanted |= (children & modules.keys()) or {node.module}
        found[name] = (wanted & modules.keys()) - {name}
    return found


def rank(module: str, packages: set[str]) -> tuple[str, int]:
    """The folder of a module, and its package's number in the folder's order."""
    _, folder, *rest = [*module.split("."), "", ""][:4]
    order = ORDER.get(folder, "(top)").split()
    package = rest[0] if f"accord.{folder}.{rest[0]}" in packages else "(top)"
    return folder, order.index(package) if package in order else order.index("(top)")


def wrong_arrows(root: Path) -> list[str]:
    """Imports that point to the right."""
    modules = modules_of(root)
    packages = {name for name, path in modules.items() if path.name == "__init__.py"}
    wrong = []
    for name, imports in arrows(modules).items():
        if name == "accord":  # the public names, which come last
            continue
        folder, place = rank(name, packages)
        for target in sorted(imports - {f"accord.{folder}"}):
            if target == "accord":
                wrong.append(f"{name} → {target}")
                continue
            there, its_place = rank(target, packages)
            below = {"pipeline": {"corpora", "lexicon", "models"}}
            below["zoo"] = {*below["pipeline"], "pipeline"}
            fine = its_place <= place if there == folder else there in below.get(folder, ())
            if not fine:
                wrong.append(f"{name} → {target}")
    return wrong


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Modules that can be reached from themselves."""
    reach = {name: set(imports) for name, imports in graph.items()}
    for through in reach:
        for name in reach:
            if through in reach[name]:
                reach[name] |= reach[through]
    return sorted(name for name in reach if name in reach[name])


def test_packages_import_those_to_their_left_and_nothing_in_a_circle():
    assert wrong_arrows(ROOT) == []
    modules = modules_of(ROOT)
    packages = {name for name, path in modules.items() if path.name == "__init__.py"}
    # A package's own file offers names of its modules; it is not a part of their circle.
    graph = {name: imports - packages for name, imports in arrows(modules).items()}
    assert circles(graph) == []


@pytest.mark.parametrize(
    ("file", "line", "arrow"),
    [
        ("models/common/checks.py", "from accord.models import phi", "models.phi"),
        ("models/phi.py", "import accord.pipeline.config.sections", "pipeline.config.sections"),
        ("lexicon/analysis.py", "from accord.corpora import sources", "corpora.sources"),
        ("pipeline/data/encoded.py", "from accord.pipeline.cli.main import app", "cli.main"),
        ("models/encoder.py", "from accord.zoo import encoders", "zoo.encoders"),
        ("pipeline/cli/model.py", "from accord.zoo import lattices", "zoo.lattices"),
        ("pipeline/model/network.py", "import accord.zoo.ngrams", "zoo.ngrams"),
        ("pipeline/stages/corpus.py", "import accord", "accord"),
    ],
)
@pytest.mark.slow
def test_a_planted_wrong_arrow_is_found(tmp_path, file, line, arrow):
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, symlinks=True)
    path = tmp_path / file
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    module = f"accord.{file.removesuffix('.py').replace('/', '.')}"
    [wrong] = wrong_arrows(tmp_path)
    assert wrong.startswith(f"{module} → accord") and wrong.endswith(arrow)


def test_a_planted_circle_is_found_also_for_types():
    graph = arrows(modules_of(ROOT))
    graph["accord.models.common.checks"] = {"accord.models.phi"}
    found = set(circles(graph))
    assert {"accord.models.common.checks", "accord.models.phi"} <= found


def test_every_package_says_what_it_holds():
    for file in (ROOT / folder for folder in LINKED):
        for init in file.rglob("__init__.py"):
            assert ast.get_docstring(parsed(init)), init


def test_no_class_name_is_used_twice():
    seen: dict[str, Path] = {}
    for path in SOURCES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                assert node.name not in seen, (node.name, path, seen[node.name])
                seen[node.name] = path


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_import_what_they_may(path):
    names = imported(path)
    assert "benchmarks" not in names, "benchmarks are not installed"
    if path.relative_to(ROOT).parts[0] == "models":
        assert names <= ONLY_TRAINING | {"accord"} | sys.stdlib_module_names


@pytest.mark.slow
def test_models_and_training_import_with_torch_numpy_and_safetensors_alone():
    """A fresh interpreter in which every other dependency of Accord refuses to be imported."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    needed = setup["options"]["install_requires"] + setup["options.extras_require"]["train"]
    declared = re.findall(r"^([\w-]+)>=", needed, re.MULTILINE)
    modules = {"pyyaml": "yaml"}
    refused = {modules.get(name, name) for name in declared} - ONLY_TRAINING
    refused.remove("filelock")  # torch needs it itself
    refused.add("ray")
    assert {"pandas", "datasets", "pyarrow", "typer", "yaml"} <= refused
    program = f"""
import sys
for name in {sorted(refused)!r}:
    sys.modules[name] = None  # importing it is now an ImportError
import importlib, pkgutil, accord.models
for module in pkgutil.walk_packages(accord.models.__path__, "accord.models."):
    importlib.import_module(module.name)
import accord.pipeline.run.train
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


FORBIDDEN = {
    "import": {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"},
    "call": {"eval", "exec", "compile", "__import__", "extractall", "read_pickle", "to_pickle"},
}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_that_is_read_can_be_code(path):
    """No pickles, no unpacking of whole archives, arrays and tensors by the loaders that check."""
    assert not imported(path) & FORBIDDEN["import"]
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        name = called.rpartition(".")[2]
        if called not in ("re.compile", "torch.compile"):
            assert name not in FORBIDDEN["call"] or called.endswith(".eval"), called
        assert called not in ("torch.load", "torch.save"), called
        if called == "np.load":
            assert path.name == "arrays.py", "accord.models.common.arrays checks what a file claims"
        if called == "yaml.load":
            assert path.name == "configuration.py", "its loader takes only data"


def test_a_commit_is_checked_by_the_ruff_of_the_tests():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    (version,) = re.findall(r"ruff-pre-commit\n *rev: v([\d.]+)\n", hooks)
    assert f"ruff=={version}" in (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
