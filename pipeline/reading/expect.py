"""What models expect of the next word, along a sentence: exact probabilities of its grammar."""

from collections.abc import Mapping, Sequence

import pandas as pd

from accord.pipeline.inference.explain import GAP
from accord.pipeline.inference.scorer import Scorer
from accord.pipeline.prepared.special_words import END
from accord.pipeline.reading.reader import Reader, probabilities

FEATURES = ("Number", "Gender", "pos")
NEXT = "…"


def expect(
    text: str, models: Scorer | Mapping[str, Scorer], features: Sequence[str] = FEATURES
) -> pd.DataFrame:
    """P(Number=Plur | K) and the like before each word of a text and of what follows.

    A feature has a column for each value, `none` among them, which sum to one; `Number=Plur` asks
    for one value alone. The last row is what may follow: `…` where the text ends in it, the
    sentence's end otherwise. Of several models, by name, each has its rows.
    """
    beginning = GAP.sub("", text)
    parts = []
    for name, scorer in by_name(models).items():
        reader = Reader(scorer, features)
        (words,) = reader.read([beginning])
        last = NEXT if beginning != text else END
        places = zip(words.start, words.end, strict=True)
        written = [beginning[start:end] or last for start, end in places]
        rows = pd.DataFrame({"before": written, "start": words.start, "end": words.end})
        parts.append(rows.join(probabilities(reader, words)).assign(model=name))
    table = pd.concat(parts, ignore_index=True)
    name = table.pop("model")
    if not isinstance(models, Scorer):
        table.insert(0, "model", name)
    return table


def by_name(models: Scorer | Mapping[str, Scorer]) -> Mapping[str, Scorer]:
    return {"": models} if isinstance(models, Scorer) else models
