"""The origin of a table: a JSON file next to it, and sentences for a Methods section."""

import json
import re
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from accord.errors import AccordError, ExistsError
from accord.models.common.arrays import weight_files
from accord.models.common.files import write_whole
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.artefact import hash_of_file, read_json
from accord.pipeline.base.messages import counted
from accord.pipeline.base.names import CONFIG

VERSION = sys.modules["accord"].__version__  # not imported: that package imports this one
ACCORD = f"""@software{{accord,
  author  = {{{{The Accord developers}}}},
  title   = {{Accord: language models that know French morphology}},
  version = {{{VERSION}}},
  year    = {{2026}}
}}"""
PAPER = """@article{dymetman-xiao-2016,
  author  = {Dymetman, Marc and Xiao, Chunyang},
  title   = {Log-Linear RNNs: Towards Recurrent Neural Networks with Flexible Prior Knowledge},
  journal = {arXiv preprint arXiv:1607.02467},
  year    = {2016}
}"""
SHOWN = 12  # digits of a hash in a sentence: enough to tell models apart


def weights_of(scorer: Scorer) -> dict[str, str]:
    """Return the SHA-256 of each file that holds a model's weights."""
    trained = scorer.trained
    if trained is None:
        return {}
    files = [trained.place] if trained.folder is None else weight_files(trained.folder)
    return {path.name: hash_of_file(path) for path in files}


def described(scorer: Scorer, context: str | None = None) -> dict[str, Any]:
    """Return the facts of a model that are needed to get the same numbers from it."""
    trained = scorer.trained
    return {
        "model": trained.name if trained else None,
        "kind": trained.kind if trained else None,
        "protocol": trained.protocol if trained else None,
        "weights": weights_of(scorer),
        "context": "text" if scorer.in_context(context) else "none",
    }


def sidecar(path: Path) -> Path:
    """Return the path of a table's sidecar, which says where it comes from."""
    return path.with_suffix(".json")


def check_sidecar(path: Path) -> None:
    """Reject a table if its sidecar would replace another file."""
    target = sidecar(path)
    if target.exists() and "accord" not in _json(target):
        raise ExistsError(
            f"{target} is there and does not come from Accord: it would say where {path.name} "
            f"comes from. Choose another name for the table, or move the file"
        )


def _json(path: Path) -> dict[str, Any]:
    """Return the object in a file; an empty one if it holds something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return {}
    return content if isinstance(content, dict) else {}


def write_sidecar(
    table: Path,
    models: Scorer | Mapping[str, Scorer],
    source: Path,
    columns: Mapping[str, Mapping[str, str]],
    results: Mapping[str, Any],
    context: str | None = None,
) -> Path:
    """Write which models made a table, from what, when and by which command.

    `columns` explains the columns of the tables of words and of regions. `results` is added as it
    is: files, counts, predictions.
    """
    named = {"": models} if isinstance(models, Scorer) else models
    about = {
        "accord": VERSION,
        "command": shlex.join(["accord", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "input": {"file": source.name, "sha256": hash_of_file(source)},
        "table": table.name,
        "models": {
            name or facts["model"] or "model": facts
            for name, facts in ((name, described(of, context)) for name, of in named.items())
        },
        **results,
        "columns": columns,
    }
    # Tables of regions and predictions that only an earlier command wrote are removed.
    outdated = {*_json(sidecar(table)).get("files", ())} - {*results.get("files", ())}
    further = re.compile(rf"{re.escape(table.stem)}\.(?:regions|prediction\d+)\.\w+")
    for name in filter(further.fullmatch, map(str, outdated)):
        (table.parent / name).unlink(missing_ok=True)
    text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
    write_whole(sidecar(table), text.encode())
    return sidecar(table)


def of_table(scorer: Scorer, table: Path) -> dict[str, Any]:
    """Return the sidecar of a table that this model made."""
    path = sidecar(table)
    about = _json(path)
    if not {"models", "counts", "log_frequency"} <= about.keys():
        raise AccordError(
            f"expected a table that `accord surprisal --to` wrote, with {path.name} beside it; "
            f"found none at {table}"
        )
    weights = weights_of(scorer)
    models = [facts for facts in about["models"].values() if facts["weights"] == weights]
    if not models:
        raise AccordError(
            f"{table} was made by another model, {', '.join(about['models'])}: name it by --run "
            f"and --model"
        )
    return about | models[0]


def methods(scorer: Scorer, table: Path | None = None) -> str:
    """Return some sentences for the Methods section of a paper, perhaps about a table."""
    made = of_table(scorer, table) if table else None
    about = described(scorer, made and made["context"])
    which = "bundled French model" if about["kind"] == "bundled" else f"model {about['model']}"
    encoder = scorer.parts.recipe.encoder
    network = encoder.upper() if isinstance(encoder, str) else "network"
    size = getattr(scorer.model, "parameter_count", lambda: 0)()
    facts = [f"a {scorer.parts.recipe.output_kind} {network} with {size:,} parameters"]
    if scorer.speller is None:
        facts.append(f"{len(scorer.vocabulary.known):,} known words")
    if scorer.trained and scorer.trained.is_exported:
        corpora = read_json(scorer.trained.folder / CONFIG).get("corpora", [])
        if texts := [corpus["name"] for corpus in corpora]:
            *others, last = texts
            facts.append(f"trained on {' and '.join(filter(None, [', '.join(others), last]))}")
    if digests := [f"{digest[:SHOWN]}…" for digest in about["weights"].values()]:
        facts.append(f"SHA-256 of the weights {' and '.join(digests)}")
    place = "all words before them in their text"
    if about["context"] != "text":
        place = "the words before them in their sentence"
    known = "The vocabulary is closed."
    if scorer.is_open:
        known = (
            "Every string has a probability: words that the model does not know are spelled by its "
            "character model."
        )
    text = (
        f"Surprisal, −log₂ p(word | preceding words), was computed with Accord "
        f"{made['accord'] if made else VERSION} and its {which} ({'; '.join(facts)}; Dymetman and "
        f"Xiao, 2016). Words are conditioned on {place}. {known}"
    )
    if made:
        counts = made["counts"]
        text += (
            f" The table has {counted(counts['words'], 'word')} and marks of "
            f"{counted(counts['sentences'], 'sentence')}; {counts['spelled']:,} of them were "
            f"spelled by the character model. Frequencies are those of {made['log_frequency']}."
        )
    return text


def citation(scorer: Scorer, table: Path | None = None) -> str:
    """Return the sentences for Methods and their BibTeX."""
    return f"{methods(scorer, table)}\n\n{ACCORD}\n\n{PAPER}"
