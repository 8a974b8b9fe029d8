"""Find out which release of ZooKeeper has which known bug: every row of the track record, every release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.request import Request, seconds

if TYPE_CHECKING:
    from checker.zookeeper.matrix import Cell


@dataclass(frozen=True)
class MatrixRequest(Request):
    """The matrix of bugs and releases.

    Attributes:
        file: receives each cell as soon as it is known; a cell that it has is not explored again.
        time_limit: seconds for each exploration.
        stop_after: seconds after which no cell is begun.
    """

    kind: ClassVar[str] = "zookeeper-matrix"

    file: str = ""
    time_limit: float | None = None
    stop_after: float | None = None

    def validate(self) -> None:
        if not self.file:
            raise RequestError("name the file of the matrix")
        seconds(self, "time_limit", "stop_after")


def answer(request: MatrixRequest) -> Iterator[Cell]:
    """Explore each cell that the file does not have, and yield it once it is written.

    Raises:
        RequestError: the file is not such a matrix.
    """
    from checker.zookeeper.matrix import run
    from traces.record.lines import NotRead

    try:
        yield from run(Path(request.file), request.time_limit, request.stop_after)
    except NotRead as problem:
        raise RequestError(str(problem)) from None


def known(request: MatrixRequest) -> dict[tuple[str, str], Cell]:
    """Return the cells that the file has.

    Raises:
        RequestError: the file is not such a matrix.
    """
    from checker.zookeeper.matrix import read
    from traces.record.lines import NotRead

    try:
        return read(Path(request.file))
    except NotRead as problem:
        raise RequestError(str(problem)) from None
