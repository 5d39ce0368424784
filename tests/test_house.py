"""The house keeps its shape: arrows one way, short files, models free of the heavy libraries."""

import ast
import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("corpora", "lexicon", "models", "pipeline")
SOURCES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
ONLY_TRAINING = {"torch", "numpy", "safetensors"}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


# From the ground up: a room may import those of its own line's right side, and itself.
ROOMS = {
    "accord.models.common": "",
    "accord.models.parts": "common",
    "accord.models.features": "common parts",
    "accord.models.encoders": "common parts",
    "accord.models.ngram": "common",
    "accord.models.background": "common features ngram",
    "accord.models.outputs": "common parts features background",
    "accord.models.recipe": "common parts",
    "accord.models.spelling": "common ngram",
    "accord.models.network": "common parts features encoders background outputs recipe",
    "accord.models.automata": "common ngram network",
    "accord.models.constraints": "common features ngram spelling outputs network",
    "accord.models.training": "common parts features encoders background outputs network recipe",
    "accord.pipeline.display": "",
    "accord.pipeline.artefacts": "display",
    "accord.pipeline.data": "display artefacts",
    "accord.pipeline.sections": "",
    "accord.pipeline.prepared": "display artefacts data",
    "accord.pipeline.evaluation": "display artefacts data prepared",
    "accord.pipeline.features": "sections display artefacts data prepared",
    "accord.pipeline.sharing": "display artefacts prepared evaluation trained",
    "accord.pipeline.trained": "display artefacts data prepared sharing",
    "accord.pipeline.inference": "display artefacts data prepared evaluation sharing trained",
    "accord.pipeline.reading": "display data prepared evaluation inference",
    "accord.pipeline.confusions": "data prepared evaluation inference",
    "accord.pipeline.page": "display prepared inference reading",
    "accord.pipeline.stages": "sections display artefacts data prepared features evaluation inference "
    "trained",
    "accord.pipeline.config": "display prepared sharing stages trained",
    "accord.pipeline.runner": "sections display artefacts data prepared stages config evaluation trained",
    "accord.pipeline.integrations": "prepared inference reading",
    "accord.pipeline.compare": "sections display artefacts data prepared features evaluation sharing "
    "inference stages config runner trained",
    "accord.pipeline.cli": "sections display artefacts data evaluation sharing inference reading "
    "confusions page stages config runner compare trained",
}


def modules_of(root: Path) -> dict[str, Path]:
    """Every module of the four packages by its dotted name."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    }


def arrows(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Which modules each imports, anywhere in its text, also for types alone."""
    found = {}
    for name, path in modules.items():
        wanted = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                children = {f"{node.module}.{alias.name}" for alias in node.names}
                wanted |= (children & modules.keys()) or {node.module}
        found[name] = (wanted & modules.keys()) - {name}
    return found


def room(module: str) -> str:
    """`accord.models.outputs` for `accord.models.outputs.softmax`; a package of one room is its own."""
    package, *rest = module.split(".")
    return f"{package}.{rest[0]}" if package in ("models", "pipeline") and rest else package


def wrong_arrows(root: Path) -> list[str]:
    """What points against the direction in which data flows."""
    wrong = []
    for name, imports in arrows(modules_of(root)).items():
        here = room(name)
        package = here.split(".")[0]
        allowed = {f"{package}.{each}" for each in ROOMS.get(here, "").split()} | {here}
        for imported_module in sorted(imports):
            there = room(imported_module)
            if there.split(".")[0] != package:
                fine = package == "pipeline"
            else:
                fine = there in allowed or here == package
            if not fine:
                wrong.append(f"{name} → {imported_module}")
    return wrong


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Modules that can be reached from themselves."""
    reach = {name: set(imports) for name, imports in graph.items()}
    for through in reach:
        for name in reach:
            if through in reach[name]:
                reach[name] |= reach[through]
    return sorted(name for name in reach if name in reach[name])


def test_rooms_import_what_stands_below_them_and_nothing_in_a_circle():
    assert wrong_arrows(ROOT) == []
    graph = arrows(modules_of(ROOT))
    packages = {name for name, path in modules_of(ROOT).items() if path.name == "__init__.py"}
    # A package's own file offers what its modules have; it is not a part of their circle.
    assert circles({name: imports - packages for name, imports in graph.items()}) == []


@pytest.mark.parametrize(
    ("file", "line", "arrow"),
    [
        (
            "models/common/checks.py",
            "from accord.models.network import states",
            "accord.models.network.states",
        ),
        ("models/features/phi.py", "import accord.pipeline.sections", "accord.pipeline.sections"),
        ("lexicon/dictionaries/ladl.py", "from accord.corpora import read", "corpora"),
        (
            "pipeline/prepared/encoded.py",
            "from accord.pipeline.cli.main import app",
            "accord.pipeline.cli.main",
        ),
    ],
)
def test_a_planted_wrong_arrow_is_found(tmp_path, file, line, arrow):
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package)
    path = tmp_path / file
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    module = file.removesuffix(".py").replace("/", ".")
    assert wrong_arrows(tmp_path) == [f"{module} → {arrow}"]


def test_a_planted_circle_is_found_also_for_types():
    graph = arrows(modules_of(ROOT))
    graph["accord.models.common.checks"] = graph["accord.models.common.checks"] | {
        "accord.models.features.phi"
    }
    assert {"accord.models.common.checks", "accord.models.features.phi"} <= set(circles(graph))


def test_folders_are_tables_of_contents():
    for package, beside in (("models", {"parts", "recipe"}), ("pipeline", {"sections"})):
        files = {path.stem for path in (ROOT / package).glob("*.py")}
        assert files == beside | {"__init__"}
        for folder in (
            path for path in (ROOT / package).iterdir() if (path / "__init__.py").exists()
        ):
            text = ast.get_docstring(
                ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
            )
            assert text, f"{folder} does not say what lives there"
            assert len(list(folder.glob("[!_]*.py"))) <= 14, folder


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_short_and_models_know_few_libraries(path):
    if path.relative_to(ROOT).parts[0] == "models":
        allowed = ONLY_TRAINING | {"models"} | sys.stdlib_module_names
        assert imported(path) <= allowed
    assert "benchmarks" not in imported(path), "which is not installed"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_models_and_training_import_with_torch_numpy_and_safetensors_alone():
    """A fresh interpreter in which every other dependency of Accord refuses to be imported."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    declared = re.findall(r"^([\w-]+)>=", setup["options"]["install_requires"], re.MULTILINE)
    modules = {"pyyaml": "yaml"}
    refused = {modules.get(name, name) for name in declared} - ONLY_TRAINING
    assert {"pandas", "datasets", "pyarrow", "typer", "yaml"} <= refused
    program = f"""
import sys
for name in {sorted(refused)!r}:
    sys.modules[name] = None  # importing it is now an ImportError
import importlib, pkgutil, models
for module in pkgutil.walk_packages(models.__path__, "models."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
import accord.pipeline.runner.sweep
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
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        name = called.rpartition(".")[2]
        if called not in ("re.compile", "torch.compile"):
            assert name not in FORBIDDEN["call"] or called.endswith(".eval"), called
        assert called not in ("torch.load", "torch.save"), called
        if called == "np.load":
            assert path.name == "arrays.py", "accord.models.common.files checks what a file claims"
        if called == "yaml.load":
            assert path.name == "strict_yaml.py", "strict_yaml takes nothing but data"
