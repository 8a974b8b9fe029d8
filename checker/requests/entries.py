"""List the entries of the gallery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from checker.report.answer import Listed
from checker.report.result import Part, Table, plural
from checker.requests.base.request import Option, Request, function, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.gallery import Entries, Source

HEAD = ("entry", "group", "expected", "seconds", "claim", "source")


@dataclass(frozen=True)
class EntriesRequest(Request):
    """List the entries of the gallery, and run nothing; a single one with its story."""

    kind: ClassVar[str] = "entries"
    mode: ClassVar[str | Option] = Option(
        "List the entries, and run nothing; a single one with its story.", flag="list"
    )

    names: Entries = ()
    source: Source = ""

    def answer(self, watch: Watch = QUIET) -> Listed:
        from checker.ci.shipped import described, gallery, listed

        there = gallery()
        left = there.named(names_in(self.names), self.source, heavy=True)
        entries = [c for c in there.matrix.checks if c.name not in left]
        rows = listed(entries, there.groups)
        body: list[Part] = [Table(rows, HEAD), *(described(entries[0]) if len(entries) == 1 else [])]
        content = [dict(zip(HEAD, row, strict=True)) for row in rows]
        return Listed(plural(len(rows), "entry"), content=content, body=body, kind="entries")


entries = function(EntriesRequest)
