"""The splits that a run's vocabulary, φ and b were computed from, found by leaving out each.

Each split's text is taken away in turn and the stages are computed again. A result that stays the
same to the last byte was not computed from that split. φ and b are computed over the run's own
vocabulary, so that words of the test do not make everything else look taken from it; the part b
includes the spelling of unknown words.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from accord.corpora import sources
from accord.corpora.text import kind
from accord.corpora.tokenise import comparable
from accord.errors import AccordError
from accord.lexicon.analysis import find
from accord.models.common.registry import parted
from accord.pipeline.base.arrow import WRITTEN, rows, splits, write_rows
from accord.pipeline.base.artefact import META, FinishedRun, hash_of_file
from accord.pipeline.base.messages import track
from accord.pipeline.base.names import PRETRAINING, START, is_special
from accord.pipeline.config.configuration import Sections, checked_sections
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.model.find import find_start
from accord.pipeline.stages.table import STAGES
from accord.pipeline.stages.tokenise import SCHEMA

VALIDATION = "valid"
WHOLE = "whole"  # in place of the missing split, where none is
AUDITED = {name: stage.audited for name, stage in STAGES.items() if stage.audited}
*_, LAST = AUDITED


def audit(run: Path) -> pd.DataFrame:
    """Return a row for each model's vocabulary, φ and b: for each split, whether it was used."""
    finished = FinishedRun.read(run)
    sections = _sections(run)
    finished.of_stage(LAST)
    rows = []
    with TemporaryDirectory() as scratch:
        for model, made in track(finished.artefacts.items(), "models", len(finished.artefacts)):
            with redirect_stderr(StringIO()):  # messages of the stages
                rows += _audited(model, sections[model], made, Path(scratch))
    return pd.DataFrame(rows)


def verdicts(run: Path, table: pd.DataFrame, chosen: Mapping[str, Sequence[str]]) -> list[str]:
    """Say of each split but training whether a model knew of it before scoring it.

    `chosen` has the choices that validation made, with their models.
    """
    texts = {
        model: texts_in_lexicons(_sections(run)[model]["analyse"].lexicon, made["corpus"])
        for model, made in FinishedRun.read(run).artefacts.items()
    }
    sentences = []
    for split in table.columns[3:].drop("train"):
        used = table[table[split] == "yes"].groupby("part", sort=False)["model"].agg(list)
        uses = {**used, **(chosen if split == VALIDATION else {})}
        for model, lexicons in texts.items():
            for name, held in lexicons.items():
                if split in held:
                    use = f"the text of the lexicon {name}, {held[split]}"
                    uses[use] = [*uses.get(use, ()), model]
        parts = "; ".join(f"{use} ({', '.join(models)})" for use, models in uses.items())
        sentences.append(f"{split}: used for {parts or 'nothing: it was not known'}")
    return sentences


def chosen_on_validation(run: Path) -> dict[str, list[str]]:
    """Return the choices that validation makes for the trained networks, each with its models."""
    recipes = {name: sections["train"] for name, sections in _sections(run).items()}
    trained = {n: recipe for n, recipe in recipes.items() if recipe.output_kind != "background"}
    scheduled = [n for n, recipe in trained.items() if parted(recipe.schedule)[0] == "plateau"]
    uses = {
        "the best epoch": list(trained),
        "the learning rate": scheduled,
        "the temperature": [n for n, recipe in trained.items() if "temperature" in recipe.fitted],
        "the calibration": [n for n, recipe in trained.items() if "calibration" in recipe.fitted],
    }
    return {use: models for use, models in uses.items() if models}


def texts_in_lexicons(lexicons: Iterable[str], corpus: Path) -> dict[str, dict[str, str]]:
    """Return what the text of each lexicon that is made of one holds of each held-out split.

    `corpus` is the folder of the stage. A table of words no longer has the sentences, so it may
    hold any; splits without a common sentence are left out.
    """
    held: dict[str, dict[str, str]] = {}
    for name in lexicons:
        lexicon = find(name)
        if not getattr(lexicon, "of_text", False):
            continue
        path, held[name] = lexicon.path(folder_of), {}
        is_table = kind(path) not in (".conllu", ".txt")
        texts = set() if is_table else {comparable(s.text) for s in sources.read(str(path))}
        for split, table in splits(corpus).items():
            copies = sum(comparable(row["text"]) in texts for row in rows(table))
            if split not in ("train", PRETRAINING) and (is_table or copies):
                held[name][split] = "perhaps" if is_table else f"{copies:,} of its sentences"
    return held


def starts(run: Path) -> list[str]:
    """Return the initial checkpoints of a run's models, which the audit cannot trace."""
    checkpoints = [sections["train"].start for sections in _sections(run).values()]
    return [*dict.fromkeys(filter(None, checkpoints))]


def _sections(run: Path) -> dict[str, Sections]:
    """Return the sections of each model of a run."""
    return {
        name: checked_sections([params], f"{run}, model '{name}'")
        for name, params in FinishedRun.read(run).params.items()
    }


def _audited(
    model: str, sections: Sections, made: Mapping[str, Path], scratch: Path
) -> Iterator[dict[str, str]]:
    """Yield the rows of a model; reject results that cannot be reproduced."""
    known = _words(made["analyse"])
    whole = _again(sections, made, WHOLE, known, scratch)
    for stage in AUDITED:
        if _digests(whole[stage]) != _digests(made[stage]):
            raise AccordError(
                f"{stage} of '{model}' does not come out as it did: its code or its data changed "
                f"since. `accord run` the configuration again, then audit it."
            )
    without = {
        split: _again(sections, made, split, known, scratch) for split in splits(made["tokenise"])
    }

    def row(part: str, used: Iterable[bool]) -> dict[str, str]:
        answers = {n: "yes" if is_used else "no" for n, is_used in zip(without, used, strict=True)}
        return {"model": model, "protocol": sections["analyse"].protocol, "part": part, **answers}

    yield row("vocabulary", [_words(f["vocabulary"]) != known for f in without.values()])
    for stage, parts in AUDITED.items():
        for part, files in parts.items():
            digests = _digests(made[stage], files)
            yield row(part, [_digests(f[stage], files) != digests for f in without.values()])


def _again(
    sections: Sections, made: Mapping[str, Path], missing: str, known: list[str], scratch: Path
) -> dict[str, Path]:
    """Compute all stages from the vocabulary to b again, with one text missing.

    Models that have their texts and analyses in common share them here too.
    """
    shared = scratch / made["analyse"].name / missing
    folders = {stage: shared / stage for stage in ("tokenise", "vocabulary", "analyse")}
    if start := sections["train"].start:
        folders[START] = find_start(start).folder
    analyse = STAGES["analyse"].module.compute
    if not shared.exists():
        for stage in ("tokenise", "vocabulary"):
            folders[stage].mkdir(parents=True)
        _leave_out(missing, made["tokenise"], folders["tokenise"])
        analyse(sections["analyse"], folders, folders["vocabulary"])
        if _words(folders["vocabulary"]) == known:
            folders["analyse"].symlink_to(folders["vocabulary"])
        else:
            folders["analyse"].mkdir()
            analyse(sections["analyse"], folders, folders["analyse"], known)
    for stage in AUDITED:
        folders[stage] = scratch / made[LAST].name / missing / made[stage].name
        if not folders[stage].exists():
            folders[stage].mkdir(parents=True)
            STAGES[stage].module.compute(sections[stage], folders, folders[stage])
    return folders


def _leave_out(missing: str, texts: Path, out: Path) -> None:
    """Write the texts without one split; a sentence of training stays, to be counted."""
    if missing != "train" and (texts / WRITTEN).exists():
        shutil.copy(texts / WRITTEN, out)
    for split, path in splits(texts).items():
        kept = None if split != missing else 1 if split == "train" else 0
        write_rows(out / path.name, SCHEMA, islice(rows(path), kept))


@cache
def _words(analysed: Path) -> list[str]:
    forms = pd.read_parquet(analysed / "types.parquet")["form"]
    return sorted(forms[~forms.map(is_special)])


def _digests(folder: Path, files: Sequence[str] = ("*",)) -> dict[str, str]:
    """Return the hashes of a stage's files that match names or patterns."""
    paths = [path for pattern in files for path in folder.glob(pattern) if path.name != META]
    return {path.name: hash_of_file(path) for path in paths}
