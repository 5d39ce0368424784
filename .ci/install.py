"""Install Accord for work on it, with exactly the files that constraints.txt names.

`python .ci/install.py test` does what `pip install --editable '.[test]'` does, with the SHA-256 of
every file checked. pip cannot check what `--editable` brings, so there are three steps: pip says
which files this machine would take, those are installed by `--require-hashes`, then Accord itself.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PINS = ROOT / "constraints.txt"
# PyTorch's own wheels without CUDA (2.13.0, Linux, Python 3.11), which PyPI does not have.
FURTHER = {
    "torch": {
        "84453b69508ec79902f899c5ed9495acb9e2bbe9fda5f1d5d6f19e3c3842e1a7",  # ARM
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",  # x86
    }
}


def hashes_by_version(text: str) -> dict[str, set[str]]:
    """The SHA-256 of the files of each `name==version` in a file of pins."""
    found = {}
    for pin in re.split(r"\n(?=\S)", text):
        name, version = re.match(r"([\w.-]+)==([\w.]+)", pin).groups()
        digests = set(re.findall(r"--hash=sha256:(\w{64})", pin))
        found[f"{plain(name)}=={version}"] = digests | FURTHER.get(plain(name), set())
    return found


def plain(name: str) -> str:
    """The spelling of a package's name on which all tools agree."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lines_to_install(report: dict, allowed: dict[str, set[str]]) -> list[str]:
    """What pip would install, pinned by its hash; a file that is not allowed is an error."""
    lines = []
    for each in report["install"]:
        name, version = plain(each["metadata"]["name"]), each["metadata"]["version"]
        if name == "accord-lm":
            continue
        digest = each["download_info"]["archive_info"]["hashes"]["sha256"]
        if digest not in allowed.get(f"{name}=={version.partition('+')[0]}", set()):
            sys.exit(
                f"{PINS.name}: expected the hash of {name} {version}, which pip would take from "
                f"{each['download_info']['url']}; found no line with {digest}. "
                "Nothing was installed."
            )
        lines.append(f"{name}=={version} --hash=sha256:{digest}\n")
    return lines


def pip_install(*options: str | Path) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *options])
    if done.returncode:
        sys.exit(done.returncode)  # pip has said why


def install(extras: list[str]) -> None:
    text = PINS.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        versions, report, lock = (Path(folder) / name for name in ("versions", "report", "lock"))
        # Versions alone: pip takes hashes only for what it is given by name.
        versions.write_text(re.sub(r" \\$|^ .*\n", "", text, flags=re.MULTILINE))
        asked = f"{ROOT}[{','.join(extras)}]"
        pip_install("--dry-run", "--report", report, "--constraint", versions, asked, "setuptools")
        lines = lines_to_install(json.loads(report.read_bytes()), hashes_by_version(text))
        if lines:
            lock.write_text("".join(lines))
            pip_install("--require-hashes", "--no-deps", "--requirement", lock)
    pip_install("--no-deps", "--no-build-isolation", "--editable", ROOT)


if __name__ == "__main__":
    install(sys.argv[1:])
