"""Runs the stages of every model in order, and only those whose inputs or parameters changed.

Each model of a run is a full set of sections, so each has its own chain of stages. A stage's key
is the hash of its parameters, of the *content* of the files it reads and of the version that it
declares: chains that agree share artefacts, and a stage rerun with the same outcome reruns nothing
below it.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from accord.errors import AccordError
from accord.models.common.files import clear_partial
from accord.pipeline.base.artefact import (
    ARTEFACTS,
    FORMAT,
    MANIFEST,
    WHOLE_RUN,
    Artefact,
    name_of,
    read_json,
    write_json,
)
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import START
from accord.pipeline.base.store import Store, publish
from accord.pipeline.base.tables import with_seeds
from accord.pipeline.config.configuration import Config, load_config
from accord.pipeline.data.catalogue import MissingData
from accord.pipeline.data.fetch import fetch
from accord.pipeline.model.earlier_models import check_start, start_artefact
from accord.pipeline.model.find import RUNS
from accord.pipeline.run.pool import Shards, Workers
from accord.pipeline.stages.stage import TRAIN, Stage
from accord.pipeline.stages.table import STAGES, check_names

State = Literal["done", "stale", "missing"]
FILES = ("inputs", "data")  # parts of what an artefact is made from that are files' hashes


@dataclass(frozen=True)
class Status:
    """Where one stage of one model stands, and why."""

    stage: Stage
    model: str
    state: State
    why: str


class Run:
    """One configuration in one folder of runs."""

    def __init__(
        self,
        config: Config,
        runs: Path,
        shards: Shards | None = None,
        workers: Workers | None = None,
    ):
        if config.name == ARTEFACTS:
            raise AccordError(
                f"a run cannot be called {ARTEFACTS}, as the folder of what runs make"
            )
        self.config, self.shards, self.workers = config, shards, workers
        self.folder = runs / config.name
        self.store = Store(runs / ARTEFACTS)
        self._before = self._manifest()
        self.artefacts: dict[tuple[str, str], Artefact] = {}  # by (model, stage)

    def check(self) -> None:
        """Reject a configuration that some stage cannot run with."""
        for model, sections in self.config.models.items():
            for stage in STAGES.values():
                try:
                    stage.check(sections)
                except ValueError as error:
                    raise AccordError(f"model '{model}', {error}") from None

    def execute(self, until: str | None = None, force: frozenset[str] = frozenset()) -> None:
        """Bring every stage up to date, or every one up to and including `until`."""
        made: set[str] = set()
        self._clear()
        for model, stage in self.steps(until):
            if stage is TRAIN and self.workers and (model, stage.name) not in self.artefacts:
                made |= self._train(self.workers, stage.name in force)
            recipe, name = self.recipe(model, stage)
            forced = stage.name in force and name not in made
            artefact = None if forced else self.store.find(name)
            if artefact is None:
                why = "forced" if forced else self._reason(self._known(model, stage), recipe)
                artefact = self._make(model, stage, recipe, name, why, forced)
                made.add(name)
            self._record(model, stage, artefact)
        if until is None or not self._is_finished:
            self._remember()
        if not made:
            say(f"all stages of '{self.config.name}' are done")
        if (WHOLE_RUN, "report") in self.artefacts:
            report = self.artefacts[WHOLE_RUN, "report"]
            report.check()
            publish(report, self.folder / "report")

    def _record(self, model: str, stage: Stage, artefact: Artefact) -> None:
        self.artefacts[model, stage.name] = artefact
        if not self._is_finished:  # a finished run stays until the new one is complete
            self._remember()

    def _train(self, workers: Workers, forced: bool) -> set[str]:
        """Train the models side by side that are not trained; return the names of artefacts."""
        from accord.pipeline.run.train import TrainingJob, train_models  # here, as it loads torch

        trainings = {}
        for model in self.config.models:
            inputs = self._inputs(model, TRAIN)
            training = TrainingJob(self.store, self.params(model, TRAIN), inputs)
            if forced or not training.has_teachers or not self.store.find(training.name):
                trainings[model] = training
        made: set[str] = set()

        def finished(model: str, artefact: Artefact) -> None:
            made.add(artefact.folder.name)
            self._record(model, TRAIN, artefact)

        train_models(trainings, workers, finished, forced)
        return made

    def _clear(self) -> None:
        """Remove the leftovers of killed runs, without those that a stage resumes from."""
        self.store.clear({stage.name for stage in STAGES.values() if self._resumes(stage)})
        for folder in (self.folder, self.folder / "report"):
            clear_partial(folder)

    def _resumes(self, stage: Stage) -> bool:
        return stage.resumes or (stage.sharded and self.shards is not None)

    def status(self) -> Iterator[Status]:
        """Where every stage stands, without running any."""
        state: State
        for model, stage in self.steps(None):
            try:
                recipe, name = self.recipe(model, stage)
            except KeyError as above:  # an artefact above is not there: the key is not known yet
                known = self._known(model, stage)
                state, why = ("stale" if known else "missing"), f"waits for {above.args[0][1]}"
            except MissingData:
                state, why = "missing", "its data is not fetched yet"
            except FileNotFoundError as lacking:  # which nothing fetches
                found_none = f"expected a file, found none at {lacking.filename}"
                state, why = "missing", found_none if lacking.filename else str(lacking)
            else:
                artefact = self.store.find(name)
                if artefact:
                    self.artefacts[model, stage.name] = artefact
                    state, why = "done", name
                else:
                    known = self._known(model, stage)
                    state, why = ("stale" if known else "missing"), self._reason(known, recipe)
            yield Status(stage, model, state, why)

    def steps(self, until: str | None) -> Iterator[tuple[str, Stage]]:
        """Every stage of every model in order, up to and including `until`."""
        for stage in STAGES.values():
            models = [WHOLE_RUN] if stage.over_models else [*self.config.models]
            if stage is TRAIN:
                models.sort(key=self.is_student)  # teachers before their students
            yield from ((model, stage) for model in models)
            if stage.name == until:
                return

    def recipe(self, model: str, stage: Stage) -> tuple[dict[str, Any], str]:
        """Return all that the artefact depends on, and its name."""
        recipe = stage.made_from(self.params(model, stage), self._inputs(model, stage))
        return recipe, name_of(recipe)

    def params(self, model: str, stage: Stage) -> Any:
        sections = self.config.sections if model == WHOLE_RUN else self.config.models[model]
        return sections[stage.name]

    def is_student(self, model: str) -> bool:
        """Return whether models of this run are its teachers, which are trained before it."""
        teachers = self.params(model, TRAIN).teachers.models
        return any(Path(name).absolute().parent == self.folder.absolute() for name in teachers)

    def _inputs(self, model: str, stage: Stage) -> dict[str, Artefact]:
        if stage.over_models:
            return {
                f"{each}/{above}": self.artefacts[each, above]
                for each in self.config.models
                for above in stage.inputs
            }
        inputs = {above: self.artefacts[model, above] for above in stage.inputs}
        start = self.params(model, STAGES["train"]).start if stage.starts else None
        return inputs | ({START: start_artefact(start)} if start else {})

    def _make(
        self, model: str, stage: Stage, recipe: Mapping, name: str, why: str, forced: bool
    ) -> Artefact:
        label = stage.name if stage.over_models else f"{stage.name} [{model}]"
        say(f"{label}: running ({why})")
        inputs = self._inputs(model, stage)
        for at, artefact in inputs.items():
            artefact.check(stage.files_read(at))
        folders = {at: artefact.folder for at, artefact in inputs.items()}
        params = self.params(model, stage)
        compute = partial(stage.compute, params, folders)
        if self.shards and stage.sharded:
            compute = partial(self.shards.compute, stage, params, folders)
        start = time.monotonic()
        artefact = self.store.make(name, recipe, compute, self._resumes(stage), forced)
        say(f"{label}: done in {time.monotonic() - start:.1f} s", detail=True)
        return artefact

    def _reason(self, known: Artefact | None, recipe: Mapping) -> str:
        """Why a stage runs: what differs from the last time this run had it."""
        if known is None:
            return "not made yet"
        before = known.meta
        changed = [
            f"{key} {before['params'].get(key)!r} → {recipe['params'].get(key)!r}"
            for key in sorted({*before["params"], *recipe["params"]})
            if before["params"].get(key) != recipe["params"].get(key)
        ]
        changed += [
            f"{key} changed"
            for part in FILES
            for key in sorted(before[part].keys() & recipe[part].keys())
            if before[part][key] != recipe[part][key]
        ]
        if not changed and any(before[part].keys() != recipe[part].keys() for part in FILES):
            changed.append("it reads other files")
        # An artefact made before stages had versions has none.
        if before.get("version") != recipe["version"]:
            changed.append("the stage has another version")
        return "; ".join(changed) or "its artefact was removed"

    def _known(self, model: str, stage: Stage) -> Artefact | None:
        name = self._before.get("models", {}).get(model, {}).get(stage.name)
        return self.store.find(name) if name else None

    @property
    def _is_finished(self) -> bool:
        """Whether the folder held a run with its report before this one began."""
        return "report" in self._before.get("models", {}).get(WHOLE_RUN, {})

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        return read_json(path) if path.exists() else {}

    def _remember(self) -> None:
        models: dict[str, dict[str, str]] = {}
        for (model, stage), artefact in self.artefacts.items():
            models.setdefault(model, {})[stage] = artefact.folder.name
        manifest = {"format": FORMAT, "config": self.config.as_dict(), "models": models}
        if json.loads(json.dumps(manifest)) != self._manifest():  # the folder may be read-only
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / MANIFEST, manifest)


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
    workers: Workers | None = None,
) -> Run:
    """Run every stage of a preset or configuration file that is not done.

    `set` changes single keys: `{"corpus.limit": 100}` for all models, `{"ll-rnn.train.hidden": 64}`
    for one. `models` names the models to run, by default all. `name` names the folder of the run,
    by default after the configuration. Each model is trained with `seeds` seeds. `until` stops
    after a stage, and `force` runs stages that are done. `runs` is the folder that holds all runs.
    `shards` says how preparation is shared out, and `workers` train the models side by side; the
    result is the same.
    """
    overrides = _overrides(set) if isinstance(set, Mapping) else set
    loaded = load_config(config, overrides, models, name)
    expanded = replace(loaded, models=with_seeds(loaded.models, seeds))
    return run_config(expanded, until=until, force=force, runs=runs, shards=shards, workers=workers)


def run_config(
    config: Config,
    *,
    until: str | None = None,
    force: Sequence[str] = (),
    runs: str | Path = RUNS,
    shards: Shards | None = None,
    workers: Workers | None = None,
) -> Run:
    """Bring every stage of a configuration up to date, fetching the data it names."""
    check_names([*force, *([until] if until else [])])
    this = Run(config, Path(runs), shards, workers)
    this.check()
    for start in {sections["train"].start for sections in config.models.values()} - {None}:
        check_start(start)
    _fetch_missing(this, until)
    this.execute(until, frozenset(force))
    return this


def _overrides(values: Mapping[str, Any]) -> list[str]:
    """Write overrides as on the command line, in YAML, which includes JSON; text stays as it is."""
    return [
        f"{key}={value if isinstance(value, str) else _as_json(value)}"
        for key, value in values.items()
    ]


def _as_json(value: Any) -> str:
    """Write the value as JSON; numpy's numbers become Python's, and paths text."""
    return json.dumps(
        value,
        ensure_ascii=False,
        default=lambda other: other.item() if isinstance(other, np.generic) else str(other),
    )


def _fetch_missing(this: Run, until: str | None) -> None:
    """Fetch the data that the stages need and the data folders lack."""
    for model, stage in this.steps(until):
        if stage is TRAIN and this.is_student(model):
            continue
        while True:
            try:
                stage.files(this.params(model, stage))
                break
            except MissingData as missing:
                fetch(missing.source)
