"""Write a saved trace in another form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.output_files import check_writable, save_file
from checker.plain_text import plain
from checker.requests.carried import verified_trace
from checker.requests.model import near
from checker.requests.saved import TraceRequest

if TYPE_CHECKING:
    from traces import Trace

__all__ = ["FORMATS", "ExportRequest", "answer"]

TLA = "tla"  # of models alone
FORMATS = ("text", "json", "itf", "mermaid", "html", "svg", "png", "parquet", TLA)
INTO_FILES = {"parquet": "an event table", "png": "a PNG"}  # nothing for a terminal


@dataclass(frozen=True)
class ExportRequest(TraceRequest):
    """A saved trace in another form.

    Attributes:
        form: one of `FORMATS` but `tla`.
        output: the file that is written; empty: none.
    """

    kind: ClassVar[str] = "export"

    form: str = ""
    output: str = ""

    def validate(self) -> None:
        if self.form == TLA:
            raise RequestError("to tla goes a whole model, not a trace: --model")
        super().validate()
        if self.form not in FORMATS:
            listed = f"there are {', '.join(FORMATS)}{near(self.form, FORMATS)}"
            raise RequestError(f"there is no format {self.form!r}; {listed}")
        if self.form in INTO_FILES and not self.output:
            raise RequestError(f"{INTO_FILES[self.form]} goes to a file: --output FILE")


def answer(request: ExportRequest) -> bytes:
    """Return a trace in another form, and write it if the request names a file. An event table is only written.

    Raises:
        RequestError: there is no such trace, the file cannot be used, or a package is missing.
        NoVerdict: the file could not be written.
    """
    from traces import EXPORTS
    from traces.pictures import PICTURES
    from traces.pictures.png import NoRasterizer

    form, output = request.form, Path(request.output) if request.output else None
    if output is not None:
        check_writable(output, "--output", regular=form == "parquet")
    given = verified_trace(Path(request.trace))
    if form == "parquet" and output is not None:
        write_table(given, output)
        return b""
    try:
        data = PICTURES[form](given) if form in PICTURES else plain(EXPORTS[form](given)).encode()
    except NoRasterizer as problem:
        raise RequestError(str(problem)) from None
    if output is not None:
        save_file(output, data)
    return data


def write_table(trace: Trace, output: Path) -> None:
    """Write a trace as an event table.

    Raises:
        RequestError: what writes tables is not installed.
        NoVerdict: the table could not be written.
    """
    from traces.tables import recorded
    from traces.tables.own import table_of_trace
    from traces.tables.table import TableError, check_arrow

    try:
        check_arrow()
        of_replicas = trace.model.protocol.declared.replicas
        rows = recorded.rows_of_trace(trace).as_table() if of_replicas else table_of_trace(trace)
        recorded.write_table(rows, trace.configuration.protocol, output)
    except TableError as problem:
        raise RequestError(str(problem)) from None
    except OSError as problem:
        raise NoVerdict(f"cannot write {output}: {problem.strerror}") from None
