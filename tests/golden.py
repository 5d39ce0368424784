"""The content of every file that small runs write: `tests/golden.json`.

A stage's key holds its parameters, its inputs and its version, not its code. So code that comes to
write something else must raise the version, or finished runs keep what the old code made. This
module tells which stage or reader of a lexicon has changed what it gives under the same version:

    python -m tests.golden          says what has changed
    python -m tests.golden --write  writes tests/golden.json anew, unless a version must be raised

Files are compared by what they hold and not by their bytes, which change with the versions of
pyarrow and numpy. Floats that are counted are rounded to six digits, as machines add in another
order. What is trained or scored differs more from machine to machine, and a hash of rounded values
would differ wherever one of thousands lies between two steps. There a file is held to its size and
to three figures of each array, with a tolerance. Times are left out, and so are the figures'
drawings, which are matplotlib's own, and the sums of explained words.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from safetensors.numpy import load_file

import accord
from accord.lexicon import dictionaries, guesser, index, tables
from accord.lexicon.analysis import everything
from accord.lexicon.closed import Closed
from accord.lexicon.index import Report
from accord.pipeline.base.arrow import open_table
from accord.pipeline.base.artefact import hash_of_value
from accord.pipeline.run.run import WHOLE_RUN, Run
from accord.pipeline.stages.table import STAGES

GOLDEN = Path(__file__).with_name("golden.json")
DATA = Path(__file__).parent / "data" / "golden"
TINY = {"train.epochs": 3}  # as the tests' own run, which is then made once
MEASURED = {  # files whose numbers were trained or scored
    "background": {"spelling.safetensors"},
    "train": {"model.safetensors", "curve.csv", "steps.csv", "pretraining.csv", "growth.csv"},
    "evaluate": {"*"},
    "report": {"scores.csv", "scores.parquet"},
}
TIMED = re.compile(r"second|words_per")
DRAWN = {".png", ".svg"}
# Of a page: drawings, and explained words, whose features stand in the order of their weights.
LEFT_OUT = re.compile(r"<(svg|fieldset)\b.*?</\1>", re.DOTALL)
NUMBER = re.compile(r"[-−+]?\d[\d.,:]*(e[-+]?\d+)?")
CLOSE = {"rtol": 1e-3, "atol": 1e-4}
TO_RAISE = (
    "Raise the version of the stage (pipeline/stages/table.py), or of the reader and of `analyse` "
    "(lexicon), so that finished runs are made anew."
)
TO_WRITE = "Then run `python -m tests.golden --write`."

Entries = dict[str, dict[str, Any]]  # what each artefact or reader is made from and gives

# A few lines in the notation of each lexicon that is read from a file.
LINES = {
    "dela": (
        dictionaries.dela,
        "abaissa,abaisser.V+z1:J3s\nabbé,.N+z1+Profession:ms\nau,à le.PREPDET:ms\n",
    ),
    "lefff": (
        dictionaries.lefff,
        "abats\tv\tabattre\tP12s\nchat\tnc\tchat\tms\nbelles\tadj\tbeau\tfp\n",
    ),
    "lexique": (
        dictionaries.lexique,
        "1_ortho\t3_lemme\t4_cgram\t5_genre\t6_nombre\t11_infover\t9_freqfilms2\t10_freqlivres\n"
        "chat\tchat\tNOM\tm\ts\t\t64,5\t80.1\nmange\tmanger\tVER\t\t\timp:pre:2s;ind:pre:3s;\t9\t1\n",
    ),
    "unimorph": (dictionaries.unimorph, "aller\tva\tV;IND;PRS;3;SG\nchat\tchats\tN;PL\n"),
    "gsd-lexicon": (tables.gsd, "chats\tchat\tNOUN\tGender=Masc|Number=Plur\t3\ndu\t_\t_\t_\t9\n"),
    "gsd-contracted": (tables.gsd_contracted, "chat\tchat\tNOUN\tGender=Masc\t3\ndu\t_\t_\t_\t9\n"),
    "treebank:text.conllu": (
        tables.treebank(Path("text.conllu")),
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t0\troot\t_\t_\n"
        "2\tle\tle\tDET\t_\tGender=Masc|Number=Sing\t1\tdet\t_\t_\n",
    ),
    "words.csv": (
        tables.user_table(Path("words.csv")),
        'upos,form,count,feats,lemma\nNOUN,"x,y",3,_,z\n',
    ),
}


def run_families(runs: Path) -> Run:
    with chdir(DATA):  # so that the paths in the configuration are the same everywhere
        return accord.run("families.yaml", until="evaluate", runs=runs)


def of_run(run: Run) -> Entries:
    """What each artefact is made from and holds, by model and stage; shared ones once."""
    labels: dict[Path, str] = {}
    found = {}
    for (model, name), artefact in run.artefacts.items():
        label = name if model == WHOLE_RUN else f"{model}/{name}"
        if labels.setdefault(artefact.folder, label) == label:
            models = run.config.models if model == WHOLE_RUN else [model]
            above = [run.artefacts[each, read] for each in models for read in STAGES[name].inputs]
            files = {file: content(artefact.folder / file, name) for file in artefact.meta["files"]}
            made_from = [artefact.meta[key] for key in ("params", "data", "version")]
            found[label] = {
                "made from": hash_of_value(made_from)[:16],
                "reads": sorted({labels[each.folder] for each in above}),
                "files": files,
            }
    return found


def of_readers() -> Entries:
    """The rows that each reader gives for a few lines, the closed classes, an index, a guesser."""
    found = {}
    with TemporaryDirectory() as folder:
        for name, (lexicon, text) in LINES.items():
            path = Path(folder) / Path(lexicon.file).name
            path.write_text(text, encoding="utf-8")
            found[name] = _reader(lexicon.version, list(lexicon.read(path, Report(path))))
    path = Path(tables.tiny.file)
    rows = list(tables.tiny.read(path, Report(path)))
    found["the index"] = _reader(index.VERSION, index.build(iter(rows)).to_pydict())
    # The closed classes are in no index, so that no version but that of `analyse` counts.
    found["closed"] = _reader(0, everything(Closed()).to_dict("list"))
    learned = guesser.learn(everything(index.Index("tiny", "", index.build(iter(rows)))))
    learned = learned.sort_values(["form", "upos", "feats"])
    found["guesser"] = _reader(guesser.VERSION, learned.to_dict("list"))
    return found


def _reader(version: int, rows: Any) -> dict[str, Any]:
    # What lexicons answer is written by the stage `analyse`, so that its version counts too.
    made_from = f"version {version}, analyse {STAGES['analyse'].version}"
    return {"made from": made_from, "reads": [], "files": {"rows": _hash(rows)}}


def content(path: Path, stage: str) -> Any:
    """A hash of what a file holds; for what was trained or scored, a few figures of each array."""
    if path.suffix in DRAWN:
        return "drawn"
    measured = MEASURED.get(stage, set()) & {path.name, "*"}
    if path.suffix in (".html", ".md", ".txt"):
        rest = LEFT_OUT.sub("", path.read_text(encoding="utf-8"))
        # The widths of a table's columns follow the digits of measured times.
        return _hash(re.sub(r"[ -]+", " ", NUMBER.sub("#", rest)))
    return READ[path.suffix](path, _figures if measured else _hash)


def _arrays(path: Path, summed: Callable) -> Any:
    with np.load(path) as archive:
        return summed({name: archive[name] for name in archive.files})


def _table(rows: pd.DataFrame, summed: Callable) -> Any:
    if "metric" in rows:  # the scores of all models
        rows = rows[~rows["metric"].str.contains(TIMED)]
    return summed({name: rows[name].tolist() for name in rows if not TIMED.search(name)})


def _json(path: Path) -> Any:
    value = json.loads(path.read_text(encoding="utf-8"))
    if path.name == "config.json":  # the hashes of weights depend on the machine
        del value["files"], value["sha256"]
    return value


READ = {
    ".arrow": lambda path, summed: summed(open_table(path).to_pydict()),
    ".parquet": lambda path, summed: _table(pq.read_table(path).to_pandas(), summed),
    ".csv": lambda path, summed: _table(pd.read_csv(path), summed),
    ".json": lambda path, summed: summed(_json(path)),
    ".npy": lambda path, summed: summed({"": np.load(path)}),
    ".npz": _arrays,
    ".safetensors": lambda path, summed: summed(load_file(path)),
}


def _hash(value: Any) -> str:
    text = json.dumps(_rounded(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    match value:
        case np.ndarray():
            return [str(value.dtype), list(value.shape), _rounded(value.ravel().tolist())]
        case Mapping():
            return {str(key): _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case float():
            return f"{value:.6g}"
        case bytes():
            return value.decode()
        case np.generic():
            return _rounded(value.item())
    return value


def _figures(value: Mapping[str, Any]) -> dict[str, Any]:
    """Of each column or array its size, mean, spread and a weighted sum, which order changes."""
    found: dict[str, Any] = {}
    for name, each in value.items():
        if isinstance(each, Mapping):
            found |= {f"{name}: {key}": figures for key, figures in _figures(each).items()}
        elif not TIMED.search(name):
            array = np.atleast_1d(each)
            found[name] = _of_array(array) if array.dtype.kind == "f" else _hash(array)
    return found


def _of_array(array: np.ndarray) -> list[float]:
    flat = array.ravel().astype(np.float64)
    weights = np.cos(np.arange(flat.size))
    figures = [flat.mean(), flat.std(), weights @ flat / np.abs(weights).sum()]
    return [flat.size, *(float(f"{figure:.6g}") for figure in figures)]


def changes(expected: Entries, found: Entries) -> tuple[list[str], list[str]]:
    """What gives another content under its old version, and what else is not as written down."""
    other = {
        name
        for name in {**expected, **found}
        if name not in expected
        or name not in found
        or not _same(expected[name]["files"], found[name]["files"])
    }
    unsaid = [
        name
        for name in found
        if name in other & expected.keys()
        and expected[name]["made from"] == found[name]["made from"]
        and not other.intersection(found[name]["reads"])
    ]
    said = [
        f"{name}: {', '.join(_differing(expected[name]['files'], found[name]['files']))}"
        for name in unsaid
    ]
    return said, sorted(other - {*unsaid})


def explained(expected: Entries, found: Entries) -> str:
    """What to do where contents are not as written down; empty where they are."""
    unsaid, others = changes(expected, found)
    lines = []
    if unsaid:
        lines += ["The content changed, and the version did not:", *unsaid, TO_RAISE]
    if others:
        lines += ["Not as in tests/golden.json, for another reason:", *others]
    return "\n".join([*lines, TO_WRITE] if lines else lines)


def _differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [name for name in {**before, **now} if not _same(before.get(name), now.get(name))]


def _same(before: Any, now: Any) -> bool:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        return before.keys() == now.keys() and not _differing(before, now)
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and np.allclose(now, before, equal_nan=True, **CLOSE)
    return before == now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write tests/golden.json anew")
    write = parser.parse_args().write
    with TemporaryDirectory() as folder:
        found = {
            "tiny": of_run(accord.run("tiny", set=TINY, runs=Path(folder))),
            "families": of_run(run_families(Path(folder))),
            "readers": of_readers(),
        }
    expected = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    both = [(expected.get(part, {}), found[part]) for part in found]
    if said := "\n".join(filter(None, (explained(*each) for each in both))):
        print(said)
    if any(changes(*each)[0] for each in both):
        sys.exit("nothing is written: a version must be raised first")
    if write:
        text = json.dumps(found, indent=1, ensure_ascii=False)
        a_line_each = re.sub(r"\[[^\[\]]*\]", lambda each: " ".join(each[0].split()), text)
        GOLDEN.write_text(a_line_each + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
