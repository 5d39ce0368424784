"""Writing an n-gram model as an ARPA file."""

import math
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

import numpy as np

from accord.models.ngram.arpa.notation import NEVER, START, check_forms, open_arpa
from accord.models.ngram.counts import END
from accord.models.ngram.model import NGrams, Table


def write_arpa(model: NGrams, forms: Sequence[str], path: Path) -> None:
    """Write the model; its probabilities keep eight digits."""
    check_forms(forms, model.words)
    tables = [Table(*(tensor.cpu().numpy() for tensor in table)) for table in model.tables]
    with open_arpa(path, "wb") as binary, TextIOWrapper(binary, "utf-8", newline="\n") as file:
        file.write("\\data\\\n")
        for order, table in enumerate(tables, start=1):
            file.write(f"ngram {order}={len(table.keys) + (order == 1)}\n")
        contexts = [""]
        for order, table in enumerate(tables, start=1):
            above = tables[order] if order < len(tables) else None
            longer = _spelled(above, contexts, forms) if above else []
            backoff = dict(zip(longer, above.backoff.tolist(), strict=True)) if above else {}
            file.write(f"\n\\{order}-grams:\n")
            if order == 1:
                file.write(_line(NEVER, START, backoff))
            with np.errstate(divide="ignore"):
                log_p = np.maximum(np.log10(table.p), NEVER).tolist()
            nodes, words = (part.tolist() for part in np.divmod(table.keys, model.words))
            for node, word, number in zip(nodes, words, log_p, strict=True):
                file.write(_line(number, f"{contexts[node]} {forms[word]}".lstrip(" "), backoff))
            contexts = longer
        file.write("\n\\end\\\n")


def _spelled(table: Table, shorter: Sequence[str], forms: Sequence[str]) -> list[str]:
    """The words of each node's context."""
    parents, oldest = (part.tolist() for part in np.divmod(table.contexts, len(forms)))
    return [
        f"{START if word == END else forms[word]} {shorter[parent]}".rstrip(" ")
        for parent, word in zip(parents, oldest, strict=True)
    ]


def _line(log_p: float, ngram: str, backoff: dict[str, float]) -> str:
    weight = backoff.get(ngram)
    end = "\n" if weight is None else f"\t{math.log10(weight) if weight else NEVER:.8g}\n"
    return f"{log_p:.8g}\t{ngram}{end}"
