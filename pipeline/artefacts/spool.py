"""Rows kept on disk while they are counted and compared, to be read back in any order.

Splitting at random has to know all sentences before it can place the first. A table of SQLite holds
them, so that a corpus of any size needs the memory of a few.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PAGES = -16_384  # kibibytes of the table that SQLite keeps in memory, by its sign


class Spool:
    """Rows numbered from 0 in the order they were added."""

    def __init__(self, path: Path):
        self._path = path
        self.repeated = 0  # rows that were not kept, as one of their key was
        self._table = sqlite3.connect(path, isolation_level=None)
        for setting in (f"cache_size = {PAGES}", "journal_mode = OFF", "synchronous = OFF"):
            self._ask(f"PRAGMA {setting}")
        self._ask("BEGIN")  # one transaction, or every row would be written on its own
        self._ask("CREATE TABLE row (number INTEGER PRIMARY KEY, key BLOB UNIQUE, json)")

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: Any) -> None:
        self._table.close()
        self._path.unlink()

    def add(self, row: Any, key: str | None = None, repeat: bool = False) -> int:
        """Keep a row, unless one of its key is kept already; returns the last row's number.

        With `repeat` it is kept even so.
        """
        digest = None if key is None else hashlib.blake2b(key.encode(), digest_size=16).digest()
        text = json.dumps(row)
        insert = "INSERT OR IGNORE INTO row (key, json) VALUES (?, ?)"
        added = self._ask(insert, (digest, text))
        if repeat and not added.rowcount:
            added = self._ask(insert, (None, text))
        self.repeated += 1 - added.rowcount
        return added.lastrowid - 1

    def _ask(self, statement: str, values: tuple = ()) -> sqlite3.Cursor:
        try:
            return self._table.execute(statement, values)
        except sqlite3.Error as error:  # the disk is full, or the file cannot be written
            raise OSError(f"{self._path}: {error}") from None

    def __len__(self) -> int:
        return self._ask("SELECT ifnull(max(number), 0) FROM row").fetchone()[0]

    def rows(self, numbers: Iterable[int]) -> Iterator[Any]:
        """The rows of these numbers, in this order."""
        for number in numbers:
            found = self._ask("SELECT json FROM row WHERE number = ?", (number + 1,))
            yield json.loads(found.fetchone()[0])
