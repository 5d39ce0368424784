"""Whether models were asked the same words as these are written, whatever they know of them."""

import filecmp
from pathlib import Path

WRITTEN = ("lengths.npy", "form.npy", "forms.json")  # what does not depend on the vocabulary


def is_same_text(one: Path, other: Path, split: str) -> bool:
    """Whether two folders of the stage `encode` have the same words of a split.

    How words are written can be compared only where both say it: folders that were brought back
    from a training elsewhere may lack it, but not how long the sentences are.
    """
    lengths, *forms = (f"{split}.{part}" for part in WRITTEN)
    told = [name for name in forms if (one / name).exists() and (other / name).exists()]
    if not ((one / lengths).exists() and (other / lengths).exists()):
        return False
    return all(filecmp.cmp(one / name, other / name, shallow=False) for name in (lengths, *told))
