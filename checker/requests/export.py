"""Convert a saved trace to another format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from checker.errors import HELD, RequestError
from checker.output_files import save_file
from checker.plain_text import plain
from checker.report.answer import TraceAnswer
from checker.report.result import Part
from checker.requests.base.carried import TraceRequest, verified_trace
from checker.requests.base.request import File, Option, function
from checker.requests.base.watch import QUIET, Watch
from zabspec.typed import near

if TYPE_CHECKING:
    from traces import Trace
    from traces.pictures.picture import Cone

TLA = "tla"  # of models alone
FORMATS = ("text", "json", "itf", "html", "svg", TLA)
Form = Annotated[
    str,
    Option(
        f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.", flag="to", metavar="FORMAT", complete="formats", required=True
    ),
]
Output = Annotated[File, Option("The file to write; stdout if not given.", place="stream")]


@dataclass(frozen=True, repr=False)
class Exported(TraceAnswer):
    """A trace in another format.

    Attributes:
        trace: the trace.
        request: the request.
        data: the content of the file in that format.
    """

    trace: Trace
    request: Export
    data: bytes

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

    A trace: as text, JSON, ITF (Apalache, Quint), a page to walk through (HTML) or a picture (SVG). A model (--model):
    to tla, a module and its .cfg beside it, which TLC explores.

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

    def answer(self, watch: Watch = QUIET) -> Exported:
        from traces import EXPORTS
        from traces.pictures import PICTURES

        form = self.form
        if self.cone is not None and form not in PICTURES:
            raise RequestError(f"--cone is for a picture: --to {' or '.join(PICTURES)}")
        given = verified_trace(self.trace)
        if form in PICTURES:
            data = PICTURES[form](given, cone_of(given, self.cone)).encode()
        else:
            data = plain(EXPORTS[form](given)).encode()
        if self.output:
            save_file(Path(self.output), data)
        return Exported(given, self, data)


export = function(Export)


def cone_of(trace: Trace, number: int | None) -> Cone | None:
    """Return what a step of a trace depends on, by the messages between processes.

    Raises:
        RequestError: there is no such step.
    """
    from traces.explain.flights import leading_to
    from traces.pictures.picture import Cone

    if number is None:
        return None
    if not 1 <= number <= len(trace.steps):
        raise RequestError(f"--cone {number}: the steps of this run are 1 to {len(trace.steps)}")
    return Cone(number, frozenset(step.number for step in trace.steps) - leading_to(trace, number))
