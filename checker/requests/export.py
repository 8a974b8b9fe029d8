"""Convert a saved trace to another format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from checker.errors import HELD, NoVerdict, RequestError
from checker.output_files import check_writable, save_file
from checker.plain_text import plain
from checker.report.answer import TraceAnswer
from checker.report.result import Part
from checker.requests.base.carried import TraceRequest, verified_trace
from checker.requests.base.causality import causal_graph, check_relation
from checker.requests.base.request import File, Option, function
from checker.requests.base.watch import QUIET, Watch
from zabspec.typed import near

if TYPE_CHECKING:
    from traces import Trace
    from traces.pictures.picture import Cone

TLA = "tla"  # of models alone
GRAPHML = "graphml"
DRAWN = ("html", "svg", "png")
FORMATS = ("text", "json", "itf", "mermaid", *DRAWN, "parquet", GRAPHML, TLA)
Form = Annotated[
    str,
    Option(
        f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.", flag="to", metavar="FORMAT", complete="formats", required=True
    ),
]
Output = Annotated[File, Option("The file to write; stdout if not given.", place="stream")]
INTO_FILES = {"parquet": "an event table", "png": "a PNG"}  # not for a terminal


@dataclass(frozen=True, repr=False)
class Exported(TraceAnswer):
    """A trace in another format.

    Attributes:
        trace: the trace.
        request: the request.
        data: the content of the file in that format; empty for an event table, which is only a file.
    """

    trace: Trace
    request: Export
    data: bytes = b""

    kind = "export"
    exit_code = HELD

    @property
    def sentence(self) -> str:
        where = f", saved as {self.request.output}" if self.request.output else ""
        return f"{len(self.data):,} bytes of {self.request.form}{where}"

    @property
    def raw(self) -> str:
        return "" if self.request.output else plain(f"{self.data.decode().rstrip()}\n")

    def parts(self) -> Sequence[Part]:
        return ()

    def details(self) -> dict[str, Any]:
        return {"bytes": len(self.data)}


@dataclass(frozen=True)
class Export(TraceRequest):
    """Write a saved trace in another format, or a whole model as a TLA+ module.

    A trace: as text, JSON, ITF (Apalache, Quint), a Mermaid diagram, a page to walk through (HTML), a picture (SVG,
    PNG), an event table (Parquet) or a graph of what happens before what (GraphML). A model (--model): to tla, a
    module and its .cfg beside it, which TLC explores.

    Examples:
      zabcheck --variant small-quorum --nodes 2 --depth 12 --trace run.trace.json
      zabcheck export run.trace.json --to html --output run.html
      zabcheck export run.trace.json --to svg --cone 9      what step 9 depends on
      zabcheck export --model --to tla --nodes 3     the same model for TLC
    """

    kind: ClassVar[str] = "export"
    others: ClassVar[tuple[str, ...]] = ("export-model",)

    form: Form = ""
    output: Output = ""
    relation: Annotated[str, Option("With --to graphml: messages (the default) or broadcasts.", metavar="NAME")] = ""
    cone: Annotated[
        int | None, Option("In a picture: draw steps that STEP does not depend on faintly.", metavar="STEP")
    ] = None

    def validate(self) -> None:
        if self.form == TLA:
            raise RequestError("--to tla exports a whole model, not a trace: add --model")
        super().validate()
        if self.form not in FORMATS:
            listed = f"there are {', '.join(FORMATS)}{near(self.form, FORMATS)}"
            raise RequestError(f"there is no format {self.form!r}; {listed}")
        if self.form in INTO_FILES and not self.output:
            raise RequestError(f"{INTO_FILES[self.form]} needs a file: --output FILE")

    def answer(self, watch: Watch = QUIET) -> Exported:
        from traces import EXPORTS
        from traces.pictures import PICTURES

        form, output = self.form, Path(self.output) if self.output else None
        if self.relation:
            if form != GRAPHML:
                raise RequestError(f"--relation is for --to {GRAPHML}")
            check_relation(self.relation)
        if self.cone is not None and form not in DRAWN:
            raise RequestError(f"--cone is for a picture: --to {', '.join(DRAWN[:-1])} or {DRAWN[-1]}")
        if output is not None and form == "parquet":
            check_writable(output, "--output", regular=True)
        given = verified_trace(self.trace)
        if form == "parquet" and output is not None:
            write_table(given, output)
            return Exported(given, self)
        if form == GRAPHML:
            data = graph_in(given, self.relation)
        elif form in PICTURES:
            data = PICTURES[form](given, cone_of(given, self.cone))
        else:
            data = plain(EXPORTS[form](given)).encode()
        if output is not None:
            save_file(output, data)
        return Exported(given, self, data)


export = function(Export)


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
    from traces.events import recorded
    from traces.events.own import table_of_trace
    from traces.events.table import check_arrow

    try:
        check_arrow()
        of_replicas = trace.model.protocol.declared.replicas
        rows = recorded.rows_of_trace(trace).as_table() if of_replicas else table_of_trace(trace)
        recorded.write_table(rows, trace.configuration.protocol, output)
    except OSError as problem:
        raise NoVerdict(f"cannot write {output}: {problem.strerror}") from None
