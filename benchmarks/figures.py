"""Keep the figures of benchmarks: a file of JSON for each page of `benchmarks/results`, with its tables.

A table has the command that measured it, the day, the machine (its kind, never its name), versions, a head and rows.
`python docs/regenerate.py --figures` writes a table into a page, between `<!-- figures: FILE TABLE -->` and
`<!-- end -->`.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


class Figures:
    """A table of a benchmark that is being measured: each row is printed and kept as it comes.

    Args:
        file: the name of its file, without `.json`.
        table: its name in the file; the table of that name that was there is replaced.
        head: the names of its columns.
        folder: where the file is.
    """

    def __init__(self, file: str, table: str, head: tuple[str, ...], folder: Path = RESULTS) -> None:
        self.path = folder / f"{file}.json"
        self.tables: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]  # no one's folders
        self.one = self.tables[table] = {
            "command": " ".join(["python -m", getattr(sys.modules["__main__"].__spec__, "name", "?"), *words]),
            "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
            "machine": f"{os.cpu_count()} cores, {memory:.0f} GiB, load {os.getloadavg()[0]:.0f}",
            "versions": {"python": platform.python_version(), "zabcheck": version("zabcheck")},
            "head": list(head),
            "rows": [],
        }
        print(*head, sep=" | ")
        self.write()

    def add(self, *row: str | float) -> None:
        """Print a row, and write the file.

        Raises:
            ValueError: it has another number of cells than the head.
        """
        if len(row) != len(self.one["head"]):
            raise ValueError(f"{len(row)} cells in a table of {len(self.one['head'])} columns")
        print(*row, sep=" | ", flush=True)
        self.one["rows"].append(list(row))
        self.write()

    def write(self) -> None:
        """Write the file."""
        self.path.write_text(as_text(self.tables), encoding="utf-8")


def as_text(tables: dict[str, Any]) -> str:
    """Return the tables as JSON, each row on a line of its own."""
    parts = []
    for name, one in tables.items():
        lines = [f"  {json.dumps(key)}: {json.dumps(one[key], ensure_ascii=False)}" for key in one if key != "rows"]
        rows = ",\n".join(f"   {json.dumps(row, ensure_ascii=False)}" for row in one["rows"])
        lines.append(f'  "rows": [\n{rows}\n  ]')
        parts.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"
