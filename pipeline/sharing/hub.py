"""Exported models on the Hugging Face hub, by the id that it gives them: `owner/name`."""

import re
from pathlib import Path

ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def is_id(place: str) -> bool:
    """Whether a place may be one of the hub's: no folder here is called as the owner."""
    return bool(ID.fullmatch(place)) and not Path(place).parent.exists()


def download(id: str) -> Path:
    """The folder into which the hub's own library brings a model, if it is not there already."""
    from huggingface_hub import snapshot_download  # here, as most models are in a folder

    try:
        return Path(snapshot_download(id))
    except (OSError, ValueError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise FileNotFoundError(
            f"{id}: expected the folder of a model, or its id on the Hugging Face hub; there is no "
            f"such folder, and the hub's library says: {why}"
        ) from None
