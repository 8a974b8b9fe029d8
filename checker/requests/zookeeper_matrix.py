"""Find out which release of ZooKeeper has which known bug: every row of the track record, every release."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import HELD, NO_VERDICT, RequestError
from checker.requests.request import File, Option, Request, Seconds, function
from checker.requests.watch import QUIET, Watch
from checker.requests.zookeeper import RowLimit

if TYPE_CHECKING:
    from checker.report.answer import StatedAnswer


@dataclass(frozen=True)
class ZookeeperMatrixRequest(Request):
    """Check every row of the track record on every release; a cell that the file has is not explored again."""

    kind: ClassVar[str] = "zookeeper-matrix"
    mode: ClassVar[str | Option] = "file"

    file: Annotated[
        File,
        Option(
            "Check every row on every release instead; results are kept in FILE, and a stopped run continues from it.",
            flag="matrix",
            metavar="FILE",
            place="folder",
        ),
    ] = ""
    time_limit: RowLimit = None
    stop_after: Annotated[Seconds | None, Option("With --matrix: start no cell after this time.")] = None

    def validate(self) -> None:
        if not self.file:
            raise RequestError("name the file of the matrix")

    def answer(self, watch: Watch = QUIET) -> StatedAnswer:
        from checker.report.answer import StatedAnswer
        from checker.report.result import Table
        from checker.report.track_record import merged_by_promise
        from checker.zookeeper.matrix import read, run, told

        for cell in run(Path(self.file), self.time_limit, self.stop_after):
            where = f"ZK-{cell.issue} on {cell.release}"
            watch.note(f"{where}: {cell.says} ({cell.states:,} states, {cell.seconds} s)")
        cells = read(Path(self.file))
        head, *rows = told(cells)
        known = sum(not c.trouble for c in cells.values())
        hours = sum(c.seconds for c in cells.values()) / 3600
        there = len(rows) * (len(head) - 2)
        sentence = f"{known} of {there} cells are known, after {hours:.2f} hours of a core"
        text = [Table(rows, head, below=f"{sentence}\n{merged_by_promise()}")]
        content = {
            "request": self.as_json(), "sentence": sentence, "exit_code": HELD if known == there else NO_VERDICT,
            "cells": [asdict(cell) for cell in cells.values()],
        }  # fmt: skip
        return StatedAnswer(sentence, HELD if known == there else NO_VERDICT, content, text, kind=self.kind)


zookeeper_matrix = function(ZookeeperMatrixRequest)
