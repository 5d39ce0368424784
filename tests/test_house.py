"""The house keeps its shape: arrows one way, short files, models free of the heavy libraries."""

import ast
import configparser
import re
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


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_arrows_go_one_way_and_files_are_short(path):
    package = path.relative_to(ROOT).parts[0]
    if package != "pipeline":
        assert imported(path) & set(PACKAGES) <= {package}
    if package == "models":
        allowed = ONLY_TRAINING | {"models"} | sys.stdlib_module_names
        assert imported(path) <= allowed
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350


def test_models_and_training_import_with_torch_numpy_and_safetensors_alone():
    """A fresh interpreter in which every other dependency of Accord refuses to be imported."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    declared = re.findall(r"^([\w-]+)>=", setup["options"]["install_requires"], re.MULTILINE)
    modules = {"pyyaml": "yaml"}
    refused = {modules.get(name, name) for name in declared} - ONLY_TRAINING
    assert {"pandas", "spacy", "datasets", "pyarrow", "typer", "yaml"} <= refused
    program = f"""
import sys
for name in {sorted(refused)!r}:
    sys.modules[name] = None  # importing it is now an ImportError
import importlib, pkgutil, models
for module in pkgutil.iter_modules(models.__path__):
    importlib.import_module("models." + module.name)
import pipeline.sweep
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
            assert path.name == "arrays.py", "models.arrays checks what a file claims"
        if called == "yaml.load":
            assert path.name == "strict_yaml.py", "pipeline.strict_yaml takes nothing but data"
