"""Where the answer to a request goes besides stdout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from checker.errors import RequestError
from checker.output_files import check_writable

__all__ = ["AuditOutputs", "CheckOutputs", "SimulationOutputs"]


@dataclass(frozen=True)
class SimulationOutputs:
    """What a simulated run is written to.

    Attributes:
        dump: the canonical dump. events: everything that happens, as JSON lines; table: as an event table.
        trace: the first violation, as a trace; page: drawn.
        show: stdout has the cluster as it is at the end.
        as_json: stdout has JSON.
    """

    dump: Path | None = None
    events: Path | None = None
    table: Path | None = None
    trace: Path | None = None
    page: Path | None = None
    show: bool = False
    as_json: bool = False


@dataclass(frozen=True)
class CheckOutputs:
    """What the result of `zabcheck check` is written to.

    Attributes:
        as_json: stdout has JSON. github: stdout has annotations too, and the step's summary is written.
        junit, sarif: files. traces, html: folders for runs.
    """

    as_json: bool = False
    github: bool = False
    junit: Path | None = None
    sarif: Path | None = None
    traces: Path | None = None
    html: Path | None = None

    def check(self) -> None:
        """
        Raises:
            RequestError: two outputs contradict each other, or one cannot be written.
        """
        if self.as_json and self.github:
            raise RequestError("--json and --github both write to stdout")
        for path, option in ((self.junit, "--junit"), (self.sarif, "--sarif")):
            if path is not None:
                check_writable(path, option)
        if self.junit is not None and self.junit == self.sarif:
            raise RequestError("--junit and --sarif name the same file")
        for folder, option in ((self.traces, "--traces"), (self.html, "--html")):
            if folder is not None and not folder.is_dir():
                raise RequestError(f"{option} {folder}: there is no such folder")


@dataclass(frozen=True)
class AuditOutputs:
    """What an audit is written to.

    Attributes:
        as_json: stdout has JSON.
        html, sarif, junit: files. svg, png: pictures of text logs.
    """

    as_json: bool = False
    html: Path | None = None
    svg: Path | None = None
    png: Path | None = None
    sarif: Path | None = None
    junit: Path | None = None

    def check(self) -> None:
        """
        Raises:
            RequestError: one cannot be written.
        """
        for name in ("html", "svg", "png", "sarif", "junit"):
            path: Path | None = getattr(self, name)
            if path is not None:
                check_writable(path, f"--{name}")
