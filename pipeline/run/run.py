"""Run the stages of every model in order, and only those whose inputs or parameters changed.

Each model of a run is a full set of sections, so each has its own chain of stages. A stage's key
is the hash of its parameters, of the *content* of the files it reads and of the version that it
declares: chains that agree share artefacts, and a stage rerun with the same outcome reruns nothing
below it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from accord.corpora.sources import part_names
from accord.errors import AccordError
from accord.models.common.files import clear_partial
from accord.pipeline.base.artefact import (
    ARTEFACTS,
    FORMAT,
    MANIFEST,
    WHOLE_RUN,
    Artefact,
    Store,
    hash_of_value,
    publish,
    read_json,
    write_json,
)
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import START
from accord.pipeline.base.tables import with_seeds
from accord.pipeline.config.configuration import Config, load_config
from accord.pipeline.data.catalogue import MissingData
from accord.pipeline.data.fetch import fetch
from accord.pipeline.model.find import RUNS, find_start
from accord.pipeline.run.opened import OpenedRun
from accord.pipeline.run.pool import Pool, Shards
from accord.pipeline.stages.stage import TRAIN, Job, Stage
from accord.pipeline.stages.table import STAGES, check_names

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

State = Literal["done", "stale", "missing"]
LINKS = "stages"  # in the folder of a run
FILES = ("inputs", "data")  # parts of what an artefact is made from that are files' hashes


@dataclass(frozen=True)
class Status:
    """Where one stage of one model stands, and why."""

    stage: Stage
    model: str
    state: State
    why: str


class Run(OpenedRun):
    """One configuration in a folder of runs."""

    def __init__(
        self, config: Config, runs: Path, shards: Shards | None = None, workers: Pool | None = None
    ):
        if config.name == ARTEFACTS:
            raise AccordError(f"a run cannot be called {ARTEFACTS}, like the folder of artefacts")
        self.config, self.shards, self.workers = config, shards, workers
        super().__init__(runs / config.name)
        self.store = Store(runs / ARTEFACTS)
        self._former = self._manifest()
        # A finished run stays until the new one is complete.
        self._was_finished = "report" in self._former.get("models", {}).get(WHOLE_RUN, {})
        self.artefacts: dict[tuple[str, str], Artefact] = {}  # by (model, stage)

    def execute(self, until: str | None = None, force: Collection[str] = ()) -> None:
        """Bring every stage up to date, or every one up to and including `until`.

        The data that the stages need is fetched first.
        """
        check_names([*force, *([until] if until else [])])
        self._check()
        self._fetch(until)
        # The leftovers of killed runs go, without those that a stage resumes from.
        self.store.clear({stage.name for stage in STAGES.values() if self._resumes(stage)})
        for folder in (self.folder, self.folder / "report"):
            clear_partial(folder)
        made: set[str] = set()
        for model, stage in self.steps(until):
            if stage is TRAIN and self.workers and (model, stage.name) not in self.artefacts:
                made |= self._train(self.workers, stage.name in force)
            job = self.job(model, stage)
            forced = stage.name in force and job.name not in made
            artefact = None if forced else self.store.find(job.name)
            if artefact is None:
                artefact = self._make(model, job, forced)
                made.add(job.name)
            self._record(model, stage, artefact)
        if until is None or not self._was_finished:
            self._write_manifest()
        if not made:
            last = f" up to {until}" if until else ""
            say(f"all stages of '{self.config.name}'{last} are done")
        if report := self.artefacts.get((WHOLE_RUN, "report")):
            report.check()
            publish(report, self.folder / "report")

    def _check(self) -> None:
        """Reject a configuration that some stage cannot run with."""
        for model, sections in self.config.models.items():
            for stage in STAGES.values():
                try:
                    stage.check(sections)
                except ValueError as error:
                    raise AccordError(f"model '{model}', {error}") from None
            if start := sections["train"].start:
                find_start(start)

    def _fetch(self, until: str | None) -> None:
        """Fetch the data that the stages need and the data folders lack."""
        for model, stage in self.steps(until):
            if stage is TRAIN and self.is_student(model):
                continue
            while True:
                try:
                    stage.files(self.params(model, stage))
                    break
                except MissingData as missing:
                    fetch(missing.source)

    def _make(self, model: str, job: Job, forced: bool) -> Artefact:
        stage = job.stage
        label = stage.name if stage.over_models else f"{stage.name} [{model}]"
        say(f"{label}: running ({'forced' if forced else self._reason(model, job)})")
        compute = stage.module.compute
        if stage.sharded and self.shards is not None:
            compute = partial(self.shards.compute, stage)
        start = time.monotonic()
        artefact = job.make(
            self.store, partial(compute, job.params, job.folders), self._resumes(stage), forced
        )
        say(f"{label}: wrote {artefact.folder} in {time.monotonic() - start:.1f} s")
        return artefact

    def _train(self, workers: Pool, forced: bool) -> set[str]:
        """Train the models side by side that are not trained; return the names of artefacts."""
        from accord.pipeline.run.train import lacks_teacher, train_models  # here: it loads torch

        jobs = {model: self.job(model, TRAIN) for model in self.config.models}
        missing = {
            model: job
            for model, job in jobs.items()
            if forced or lacks_teacher(job) or not self.store.find(job.name)
        }
        made: set[str] = set()

        def finished(model: str, artefact: Artefact) -> None:
            made.add(artefact.folder.name)
            self._record(model, TRAIN, artefact)

        train_models(self.store, missing, workers, finished, forced)
        return made

    def _record(self, model: str, stage: Stage, artefact: Artefact) -> None:
        self.artefacts[model, stage.name] = artefact
        if not self._was_finished:
            self._write_manifest()

    def _resumes(self, stage: Stage) -> bool:
        return stage.resumes or (stage.sharded and self.shards is not None)

    def status(self) -> Iterator[Status]:
        """Yield where every stage stands, without running any."""
        for model, stage in self.steps(None):
            state: State = "stale" if self._last(model, stage) else "missing"
            try:
                job = self.job(model, stage)
                if artefact := self.store.find(job.name):
                    self.artefacts[model, stage.name] = artefact
                    state, why = "done", job.name
                else:
                    why = self._reason(model, job)
            except KeyError as missing:  # an artefact above: the key is not known yet
                why = f"waits for {missing.args[0][1]}"
            except MissingData:
                state, why = "missing", "its data is not fetched yet"
            except FileNotFoundError as error:  # nothing fetches it
                name = error.filename
                why = f"expected a file, found none at {name}" if name else str(error)
                state = "missing"
            yield Status(stage, model, state, why)

    def steps(self, until: str | None) -> Iterator[tuple[str, Stage]]:
        """Yield every stage of every model in order, up to and including `until`."""
        for stage in STAGES.values():
            models = [WHOLE_RUN] if stage.over_models else [*self.config.models]
            if stage is TRAIN:
                models.sort(key=self.is_student)  # teachers before their students
            yield from ((model, stage) for model in models)
            if stage.name == until:
                return

    def job(self, model: str, stage: Stage) -> Job:
        """Return a stage of a model with its inputs, all of which must be there."""
        if stage.over_models:
            inputs = {
                f"{name}/{above}": self.artefacts[name, above]
                for name in self.config.models
                for above in stage.inputs
            }
        else:
            inputs = {above: self.artefacts[model, above] for above in stage.inputs}
            if stage.starts and (start := self.params(model, TRAIN).start):
                inputs[START] = find_start(start)
        return Job(stage, self.params(model, stage), inputs)

    def params(self, model: str, stage: Stage) -> Any:
        sections = self.config.sections if model == WHOLE_RUN else self.config.models[model]
        params = sections[stage.name]
        if stage.name == "report" and not params.title:
            sources = ", ".join(part_names(sections["corpus"].source))
            return replace(params, title=f"{self.config.name}: {sources}")
        return params

    def is_student(self, model: str) -> bool:
        """Return whether models of this run are its teachers, which are trained before it."""
        teachers = self.params(model, TRAIN).teachers.models
        return any(Path(name).absolute().parent == self.folder.absolute() for name in teachers)

    def _reason(self, model: str, job: Job) -> str:
        """Return why a stage runs: what differs from the last time this run had it."""
        last = self._last(model, job.stage)
        if last is None:
            return "not made yet"
        old, new = last.meta, job.made_from
        changed = [
            f"{key} {old['params'].get(key)!r} → {new['params'].get(key)!r}"
            for key in sorted({*old["params"], *new["params"]})
            if old["params"].get(key) != new["params"].get(key)
        ]
        changed += [
            f"{key} changed"
            for part in FILES
            for key in sorted(old[part].keys() & new[part].keys())
            if old[part][key] != new[part][key]
        ]
        if not changed and any(old[part].keys() != new[part].keys() for part in FILES):
            changed.append("it reads other files")
        if old["version"] != new["version"]:
            changed.append("the stage has another version")
        return "; ".join(changed) or "its artefact was removed"

    def _last(self, model: str, stage: Stage) -> Artefact | None:
        """Return the artefact that this run had the last time."""
        name = self._former.get("models", {}).get(model, {}).get(stage.name)
        return self.store.find(name) if name else None

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        return read_json(path) if path.exists() else {}

    def _write_manifest(self) -> None:
        models: dict[str, dict[str, str]] = {}
        for (model, stage), artefact in self.artefacts.items():
            models.setdefault(model, {})[stage] = artefact.folder.name
        manifest = {"format": FORMAT, "config": self.config.as_dict(), "models": models}
        if json.loads(json.dumps(manifest)) != self._manifest():  # the folder may be read-only
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / MANIFEST, manifest)
            self._link(models)

    def _link(self, models: Mapping[str, Mapping[str, str]]) -> None:
        """Link `stages/MODEL/STAGE` and `stages/report` to each artefact, for people."""
        links = self.folder / LINKS
        with suppress(OSError):  # a file system may have no links
            shutil.rmtree(links, ignore_errors=True)
            for model, stages in models.items():
                place = links if model == WHOLE_RUN else links / model
                place.mkdir(parents=True, exist_ok=True)
                for stage, name in stages.items():
                    target = os.path.relpath(self.folder.parent / ARTEFACTS / name, place)
                    (place / stage).symlink_to(target, target_is_directory=True)


def run(
    config: str = "default",
    *,
    set: Mapping[str, Any] | Sequence[str] = (),
    models: Sequence[str] = (),
    name: str | None = None,
    seeds: int = 1,
    until: str | None = None,
    force: Sequence[str] = (),
    runs: str | Path = RUNS,
    shards: Shards | None = None,
    workers: Pool | None = None,
    sentences: Dataset | DatasetDict | None = None,
) -> Run:
    """Run every stage of a preset or configuration file that is not done.

    `set` changes single keys: `{"corpus.limit": 100}` for all models, `{"ll-rnn.train.hidden": 64}`
    for one. `models` names the models to run, by default all. `name` names the folder of the run,
    by default after the configuration. Each model is trained with `seeds` seeds. `until` stops
    after a stage, and `force` runs stages that are done. `runs` is the folder that holds all runs.
    `shards` says how preparation is shared out, and `workers` train the models side by side; the
    result is the same. `sentences` is the text to train on, with a column `text`, in place of
    `corpus.source`.
    """
    overrides = _overrides(set) if isinstance(set, Mapping) else set
    if sentences is not None:
        overrides = [*overrides, f"corpus.source={json.dumps(str(_saved(sentences, Path(runs))))}"]
    loaded = load_config(config, overrides, models, name)
    seeded = replace(loaded, models=with_seeds(loaded.models, seeds))
    made = Run(seeded, Path(runs), shards, workers)
    made.execute(until, force)
    return made


def _saved(sentences: Dataset | DatasetDict, runs: Path) -> Path:
    """Save a data set among the artefacts, unless it is there; return its folder."""
    splits = sentences if isinstance(sentences, Mapping) else {"": sentences}
    contents = {name: split._fingerprint for name, split in splits.items()}
    folder = runs / ARTEFACTS / f"sentences-{hash_of_value(contents)[:16]}"
    if not folder.exists():
        partial = folder.with_name(f".{folder.name}.partial")
        sentences.save_to_disk(str(partial))
        partial.rename(folder)
    return folder


def _overrides(values: Mapping[str, Any]) -> list[str]:
    """Write overrides as on the command line, in YAML, which includes JSON; text stays as it is."""

    def written(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, default=plain)

    def plain(value: Any) -> Any:  # of a number of numpy, or of a path
        return value.item() if hasattr(value, "item") else str(value)

    return [f"{key}={written(value)}" for key, value in values.items()]
