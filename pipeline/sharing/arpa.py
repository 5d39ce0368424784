"""An n-gram model of a run as an ARPA file, which KenLM and recognisers read."""

from pathlib import Path

from models.background.ngram import NGramBackground
from models.network.background_only import BackgroundOnly
from models.ngram.arpa import write_arpa
from pipeline.prepared.trained import load_trained
from pipeline.prepared.vocabulary import Vocabulary
from pipeline.stage import Inputs


def is_arpa(path: Path) -> bool:
    return path.name.endswith((".arpa", ".arpa.gz"))


def export_arpa(artefacts: Inputs, path: Path) -> Path:
    """Write the n-grams of a model that is nothing else; blanks in its words become `_`."""
    if path.exists():
        raise FileExistsError(f"{path} is there already: choose another file or remove it")
    model = load_trained(artefacts)
    if not (isinstance(model, BackgroundOnly) and isinstance(model.background, NGramBackground)):
        raise ValueError(
            f"{path}: an ARPA file holds n-grams; expected a model that is made of them alone, "
            f"with train.output: background and background.kind: ngram, as the preset ngrams has"
        )
    forms = [form.replace(" ", "_") for form in Vocabulary(artefacts["analyse"]).forms]
    write_arpa(model.background.ngrams, forms, path)
    return path
