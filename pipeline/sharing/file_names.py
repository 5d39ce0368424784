"""What files of an exported model are called, for those who only look whether it is one."""

from pathlib import Path

CONFIG = "config.json"  # what the model is, and the hash of every file
WORDS = "words.npz"  # of one in its small form, all that is told of its words


def is_compact(folder: Path) -> bool:
    return (folder / WORDS).is_file()
