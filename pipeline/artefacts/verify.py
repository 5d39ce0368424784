"""Whether a run is as it was written: every file, and what every artefact was made from."""

from collections.abc import Iterator
from pathlib import Path

from accord.pipeline.artefacts.artefact import ARTEFACTS, MANIFEST, META, Artefact, name_of, read_json

UNREADABLE = (OSError, ValueError)  # damaged, missing, or of a format that seems newer
Artefacts = dict[tuple[str, str], Artefact]  # by model and stage


def faults(run: Path) -> Iterator[str]:
    """What is wrong with a run, each with the name of the file or folder."""
    if not run.is_dir():
        raise FileNotFoundError(f"{run} is no run: expected a folder with {MANIFEST}")
    try:
        manifest = read_json(run / MANIFEST)
    except UNREADABLE as error:
        yield str(error)
        return
    artefacts: Artefacts = {}
    for model, stages in manifest["models"].items():
        for stage, name in stages.items():
            try:
                artefacts[model, stage] = Artefact.read(run.parent / ARTEFACTS / name)
            except UNREADABLE as error:
                yield str(error)
    for artefact in {artefact.folder: artefact for artefact in artefacts.values()}.values():
        yield from _differences(artefact)
    for (model, _), artefact in artefacts.items():
        yield from _origins(artefact, model, artefacts)
    if (run / "report" / META).exists():
        yield from _copy(run / "report")


def _differences(artefact: Artefact) -> Iterator[str]:
    yield from artefact.faults()
    yield from artefact.strangers()


def _origins(artefact: Artefact, model: str, artefacts: Artefacts) -> Iterator[str]:
    """Whether it was made from the artefacts above it as they are, and is named accordingly."""
    if artefact.folder.name != name_of(artefact.made_from):
        yield f"{artefact.folder} was made as {name_of(artefact.made_from)}"
    for label, digests in artefact.meta["inputs"].items():
        of_model, _, stage = label.rpartition("/")  # a stage over all models names the model too
        above = artefacts.get((of_model or model, stage))
        if above and not digests.items() <= above.meta["files"].items():
            yield f"{artefact.folder} was made from something else than {above.folder}"


def _copy(report: Path) -> Iterator[str]:
    """The report lies in the run's own folder too, for people to find."""
    try:
        yield from _differences(Artefact.read(report))
    except UNREADABLE as error:
        yield str(error)
