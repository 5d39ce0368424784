"""`import accord` offers its names, whatever lies beside a user's script, and `make install`
takes no file whose hash is not known."""

import importlib.util
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
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=beside, env=environment
    )
    imported = installed / "accord" / "__init__.py"
    assert done.stdout.split() == [str(imported), "bonjour"], done.stderr


@pytest.fixture(scope="module")
def installer():
    spec = importlib.util.spec_from_file_location("install", ROOT / ".ci" / "install.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_file_is_installed_by_its_hash_and_any_other_is_refused(installer):
    one, two, other = ("a" * 64, "b" * 64, "c" * 64)
    pins = f"""some-name==1.2 ; sys_platform == 'linux' \\
    --hash=sha256:{one} \\
    --hash=sha256:{two}
torch==2.0 \\
    --hash=sha256:{one}
"""
    known = installer.hashes_by_version(pins)

    def report(name: str, version: str, digest: str) -> dict:
        download = {"url": "file:///x.whl", "archive_info": {"hashes": {"sha256": digest}}}
        found = {"metadata": {"name": name, "version": version}, "download_info": download}
        return {"install": [found, {"metadata": {"name": "accord-lm", "version": "1"}}]}

    line = [f"some-name==1.2 --hash=sha256:{two}\n"]
    assert installer.lines_to_install(report("Some_Name", "1.2", two), known) == line
    for name, version, digest in (
        ("some-name", "1.2", other),
        ("some-name", "1.3", one),
        ("unknown", "1.2", one),
    ):
        with pytest.raises(SystemExit, match=f"expected the hash of {name} {version}"):
            installer.lines_to_install(report(name, version, digest), known)


def test_every_pin_has_hashes(installer):
    known = installer.hashes_by_version((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert all(known.values())
    assert {"numpy", "pytest", "torch", "mkdocs", "kenlm"} <= {
        pin.partition("==")[0] for pin in known
    }
