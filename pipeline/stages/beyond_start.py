"""The words of a model that training goes on from, and those that a new text adds to them.

The start's words keep their ids, then come the words of the text that it does not know. It reads
such a word as the unknown one of its class, and this is what φ says of it from now on too.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from accord.lexicon.chain import SAVED, save
from accord.models.common.files.json_file import load_json
from accord.pipeline.prepared.saved_chain import load_chain, read_chain, save_chain, save_hashes
from accord.pipeline.prepared.special_words import END_ID, MADE_OF, UNKNOWN_ID, is_special
from accord.pipeline.prepared.vocabulary import Vocabulary


def beyond_start(
    start: Path, words: Iterable[str], counts: Mapping[str, int], sentences: int, out: Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The start's words and the others of these, as counted in the text, and their analyses.

    The lexicons go with them, for words that are met later, and what the start was made of.
    """
    about = load_json(start / "config.json", dict)
    made_of = {key: about[key] for key in ("name", "corpora", "lexicons")}
    (out / MADE_OF).write_text(json.dumps(made_of, ensure_ascii=False, indent=1))
    known, chain = Vocabulary(start), read_chain(start)
    save_chain(out, **chain)
    if (start / SAVED).exists():
        save(load_chain(start), out)
    elif len(known.unknown) > 1:  # which lexicons tell apart that lie where data do
        save_hashes(out, chain["names"])
    new = sorted(word for word in words if word not in known.known and not is_special(word))
    forms = [*known.forms, *new]
    types = pd.DataFrame({"form": forms, "count": [counts.get(form, 0) for form in forms]})
    types.loc[END_ID, "count"] = sentences
    types["unknown"] = 0  # the start knows its words, however seldom the text has them
    classes = range(UNKNOWN_ID, UNKNOWN_ID + len(known.unknown))
    types.loc[classes, "unknown"] = classes
    types.loc[len(known.forms) :, "unknown"] = known.ids(new)
    types["share"] = 1.0
    analyses = pd.read_parquet(start / "analyses.parquet")
    read_as = types["unknown"][len(known.forms) :].rename("class").rename_axis("id").reset_index()
    of_class = read_as.merge(analyses, left_on="class", right_on="word")
    of_class = of_class.assign(word=of_class["id"])[analyses.columns]
    return types, pd.concat([analyses, of_class], ignore_index=True)
