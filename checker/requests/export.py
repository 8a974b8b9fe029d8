"""Convert a saved trace to another format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.output_files import check_writable, save_file
from checker.plain_text import plain
from checker.requests.carried import verified_trace
from checker.requests.causality import causal_graph, check_relation
from checker.requests.request import near
from checker.requests.saved import TraceRequest

if TYPE_CHECKING:
    from traces import Trace
    from traces.pictures.picture import Cone

TLA = "tla"  # of models alone
GRAPHML = "graphml"
DRAWN = ("html", "svg", "png")
FORMATS = ("text", "json", "itf", "mermaid", *DRAWN, "parquet", GRAPHML, TLA)
INTO_FILES = {"parquet": "an event table", "png": "a PNG"}  # not for a terminal


@dataclass(frozen=True)
class ExportRequest(TraceRequest):
    """A saved trace in another format.

    Attributes:
        form: one of `FORMATS` except `tla`.
        output: the file that is written; empty for none.
        relation: of `graphml`, what happens before what: `messages` or `broadcasts`; empty for the first.
        cone: of a picture, the step whose cone is drawn: what it does not depend on is faint; None to draw all.
    """

    kind: ClassVar[str] = "export"

    form: str = ""
    output: str = ""
    relation: str = ""
    cone: int | None = None

    def validate(self) -> None:
        if self.form == TLA:
            raise RequestError("--to tla exports a whole model, not a trace: add --model")
        super().validate()
        if self.form not in FORMATS:
            listed = f"there are {', '.join(FORMATS)}{near(self.form, FORMATS)}"
            raise RequestError(f"there is no format {self.form!r}; {listed}")
        if self.form in INTO_FILES and not self.output:
            raise RequestError(f"{INTO_FILES[self.form]} needs a file: --output FILE")


def answer(request: ExportRequest) -> bytes:
    """Return a trace in another format, and write it if the request names a file. An event table is only written.

    Raises:
        RequestError: there is no such trace, the file cannot be used, or a package is missing.
        NoVerdict: the file could not be written.
    """
    from traces import EXPORTS
    from traces.pictures import PICTURES
    from traces.pictures.png import NoRasterizer

    form, output = request.form, Path(request.output) if request.output else None
    if request.relation:
        if form != GRAPHML:
            raise RequestError(f"--relation is for --to {GRAPHML}")
        check_relation(request.relation)
    if request.cone is not None and form not in DRAWN:
        raise RequestError(f"--cone is for a picture: --to {', '.join(DRAWN[:-1])} or {DRAWN[-1]}")
    if output is not None:
        check_writable(output, "--output", regular=form == "parquet")
    given = verified_trace(request.trace)
    if form == "parquet" and output is not None:
        write_table(given, output)
        return b""
    try:
        if form == GRAPHML:
            data = graph_in(given, request.relation)
        elif form in PICTURES:
            data = PICTURES[form](given, cone_of(given, request.cone))
        else:
            data = plain(EXPORTS[form](given)).encode()
    except NoRasterizer as problem:
        raise RequestError(str(problem)) from None
    if output is not None:
        save_file(output, data)
    return data


def graph_in(trace: Trace, relation: str) -> bytes:
    """Return what happens before what in a trace, as GraphML.

    Raises:
        RequestError: broadcasts are requested, and the protocol has none.
    """
    from traces.causality.graph import MESSAGES
    from traces.causality.graphml import graphml_of

    return graphml_of(causal_graph(trace, relation or MESSAGES)).encode()


def cone_of(trace: Trace, step: int | None) -> Cone | None:
    """Return what a step of a trace depends on, by the messages between processes.

    Raises:
        RequestError: there is no such step.
    """
    from traces.causality.graph import MESSAGES, cone
    from traces.pictures.picture import Cone

    if step is None:
        return None
    graph = causal_graph(trace, MESSAGES)
    if step not in graph:
        raise RequestError(f"--cone {step}: the steps of this run are 1 to {len(trace.steps)}")
    return Cone(step, frozenset(graph) - cone(graph, step))


def write_table(trace: Trace, output: Path) -> None:
    """Write a trace as an event table.

    Raises:
        RequestError: the package that writes tables is not installed.
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
