"""What a stage is: a named function from parameters and artefacts to one folder of files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START = "start"  # the input that is no stage's: the folder of the model that train.start names
Inputs = Mapping[str, Path]  # the folder of each artefact a stage reads, by the stage that made it


def reads_no_files(params: Any) -> Sequence[Path]:
    """Most stages read only what the stages above them made."""
    return ()


def checks_nothing(sections: Mapping[str, Any]) -> None:
    """Most parameters are checked one by one."""


@dataclass(frozen=True)
class Stage:
    """The declaration from which the runner, the command line and the README's table are made."""

    name: str
    help: str
    inputs: Mapping[str, tuple[str, ...]]  # stage above -> the files of its folder that are read
    outputs: Mapping[str, str]  # file in this stage's folder -> what it holds
    params: type  # a frozen dataclass: this stage's section of the configuration
    compute: Callable[[Any, Inputs, Path], None]
    # Raised whenever the same parameters and inputs come to give other files: what earlier code
    # made is then made anew.
    version: int
    files: Callable[[Any], Sequence[Path]] = reads_no_files  # data outside the run that is read
    # Refuses, before the first stage runs, what the sections together cannot mean.
    check: Callable[[Mapping[str, Any]], None] = checks_nothing
    resumes: bool = False  # goes on from what an interrupted run left in its folder
    starts: bool = False  # also reads the model that train.start names, the input START
    over_models: bool = False  # reads its inputs from every model of the run, not from one
    shows: tuple[str, ...] = ()  # stages above whose parameters are told in what it writes
    # What is fixed before the test is scored -> names or patterns of the outputs that hold it: an
    # audit asks from which splits they were made.
    audited: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
