"""Accord: language models that know French morphology.

    import accord

    model = accord.load()  # the bundled French model
    model.surprisal("La petite fille mange une pomme.")  # a table with a row for each word

Each name below is imported when it is first used. So `import accord` is quick, and a machine with
only torch, numpy and safetensors can train models.
"""

import os
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accord.pipeline.ask.scorer import expect, load
    from accord.pipeline.ask.scorer import explain_words as explain
    from accord.pipeline.ask.scorer import features_of_word as phi
    from accord.pipeline.ask.scorer import generate_sentences as generate
    from accord.pipeline.ask.scorer import score_sentence as score
    from accord.pipeline.ask.surprisal import surprisal
    from accord.pipeline.model.export import export
    from accord.pipeline.run.opened import open_run
    from accord.pipeline.run.run import run
    from accord.pipeline.study.norms import norms

__version__ = "0.2.0"

# Threads that wait for each other sleep instead of spinning. That costs a training step about 5 %
# on a quiet machine. Where another program uses a core, spinning takes time from the very thread
# that is waited for, and a step takes twice as long. torch reads the variable when it
# is imported, so it is set here. A value that the user has set is kept.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

PLACES = {
    "expect": "accord.pipeline.ask.scorer:expect",
    "explain": "accord.pipeline.ask.scorer:explain_words",
    "export": "accord.pipeline.model.export:export",
    "generate": "accord.pipeline.ask.scorer:generate_sentences",
    "load": "accord.pipeline.ask.scorer:load",
    "norms": "accord.pipeline.study.norms:norms",
    "open_run": "accord.pipeline.run.opened:open_run",
    "phi": "accord.pipeline.ask.scorer:features_of_word",
    "run": "accord.pipeline.run.run:run",
    "score": "accord.pipeline.ask.scorer:score_sentence",
    "surprisal": "accord.pipeline.ask.surprisal:surprisal",
}
__all__ = [
    "__version__",
    "expect",
    "explain",
    "export",
    "generate",
    "load",
    "norms",
    "open_run",
    "phi",
    "run",
    "score",
    "surprisal",
]


def __getattr__(name: str) -> Any:
    if name in ("corpora", "lexicon", "models", "pipeline", "zoo"):
        return import_module(f"accord.{name}")
    if name in PLACES:
        return resolve_name(PLACES[name])
    raise AttributeError(f"module 'accord' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *PLACES})
