"""`import accord` offers its names, whatever lies beside a user's script."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import accord

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there_and_others_are_refused():
    assert set(accord.__all__) - {"__version__"} == set(accord.PLACES)
    for name in accord.__all__:
        assert getattr(accord, name)
        assert name in dir(accord)
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = accord.scores


def test_the_functions_answer_as_the_bundled_model_does():
    model = accord.load()
    assert accord.score("Bonjour.") == model.score("Bonjour.")
    assert accord.score("Bonjour.", model) == model.score("Bonjour.")
    assert accord.explain("la petite", "fille").equals(model.explain("la petite", "fille"))
    assert accord.generate("les", 2, seed=3) == model.generate("les", 2, seed=3)


def test_importing_accord_loads_neither_torch_nor_pandas():
    program = "import sys, accord; print(sorted({'torch', 'pandas', 'numpy'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_modules_of_the_user_with_the_names_of_our_folders_change_nothing(tmp_path):
    """The wheel, installed into a folder, is imported beside models.py and pipeline.py."""
    wheels, installed, beside = (tmp_path / name for name in ("wheels", "installed", "beside"))
    source = tmp_path / "source"  # a copy, as setuptools leaves its folder `build` there
    ignored = shutil.ignore_patterns(".*", "build", "runs", "tests", "results", "*.egg-info")
    shutil.copytree(ROOT, source, symlinks=True, ignore=ignored)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(source)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel] = wheels.glob("accord_lm-*.whl")
    install = [*pip, "install", "--no-deps", "--target", str(installed), str(wheel)]
    subprocess.run(install, check=True)
    beside.mkdir()
    (beside / "models").mkdir()
    for name in ("models.py", "pipeline.py", "models/__init__.py", "lexicon.py", "corpora.py"):
        (beside / name).write_text("raise SystemExit('the wrong module')\n")
    program = "import accord; print(accord.__file__, accord.load().score('Bonjour.')[0].form)"
    environment = {"PYTHONPATH": str(installed), "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=beside,
        env=environment,
    )
    imported = installed / "accord" / "__init__.py"
    assert done.stdout.split() == [str(imported), "bonjour"], done.stderr
