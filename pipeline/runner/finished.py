"""A run as its folder tells it: what each model was made with, and what its stages made."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.artefacts.artefact import ARTEFACTS, MANIFEST, Artefact, read_json
from pipeline.config.configuration import Sections, checked_sections
from pipeline.runner.run import WHOLE_RUN


@dataclass(frozen=True)
class Finished:
    """The models of a run that was carried out, as far as it came."""

    folder: Path
    sections: Mapping[str, Sections]  # by model
    artefacts: Mapping[str, Mapping[str, Path]]  # by model, then by stage

    @classmethod
    def read(cls, folder: Path) -> "Finished":
        manifest = folder / MANIFEST
        if not manifest.exists():
            raise FileNotFoundError(
                f"{folder} is no run: expected {manifest}. `accord run` makes one."
            )
        content = read_json(manifest)
        store = folder.parent / ARTEFACTS
        artefacts = {
            model: {stage: store / name for stage, name in stages.items()}
            for model, stages in content["models"].items()
            if model != WHOLE_RUN
        }
        sections = {
            model: checked_sections([content["config"][model]], f"{manifest}, model '{model}'")
            for model in artefacts
        }
        return cls(folder, sections, artefacts)

    def of_stage(self, stage: str) -> dict[str, Path]:
        """The folder that a stage made for each model, or an error if one is missing or damaged."""
        missing = [model for model, made in self.artefacts.items() if stage not in made]
        if missing or not self.artefacts:
            raise FileNotFoundError(
                f"{self.folder} is not finished: expected {stage} of every model, "
                f"found none of {', '.join(missing)}. `accord run` goes on with it."
            )
        for model in self.artefacts:
            self.check(model, stage)
        return {model: made[stage] for model, made in self.artefacts.items()}

    def check(self, model: str, *stages: str) -> None:
        """Refuse to go on if one of these stages was not run for a model, or a file is damaged."""
        for stage in stages:
            if stage not in self.artefacts[model]:
                raise FileNotFoundError(
                    f"{self.folder} is not finished: expected {stage} of {model}, found none. "
                    f"`accord run` goes on with it."
                )
            Artefact.read(self.artefacts[model][stage]).check()
