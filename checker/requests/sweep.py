"""Run a grid of simulated configurations, or a sample of it, and judge every run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.quorum_system import check_text
from checker.requests.request import Request, at_least
from zabspec.files import place_of

if TYPE_CHECKING:
    from traces.sweep.findings import SweepFinding
    from traces.sweep.grid import Grid
    from traces.sweep.summary import Alike, Summary
    from traces.tables.places import Place
    from zabspec.simulator.run import Run

HELD, VIOLATED, NO_VERDICT = 0, 1, 3
OF_FOLDER = ("folder", "events", "master", "processes")  # the fields that are not of the grid


@dataclass(frozen=True)
class SweepRequest(Request):
    """A sweep. Empty or None values have the defaults of `traces.sweep.grid.Grid`, which has the same names.

    Attributes:
        folder: receives a table of all runs and a report: a path, or on Spark an address, which receives tables alone.
        seeds: ranges `START:STOP`, or single seeds.
        protocol, variant, network, oracle: programs.
        nodes, rounds, proposals, delay, partition, schedule: of runs.
        faults: the number drawn from the seed; fault_kinds: their kinds.
        sample: the number of configurations drawn from the grid; sample_seed: the seed for that.
        quorums: the text of the quorum system of every run; empty for majorities.
        events: whether the events of the runs are saved as well, as an event table.
        master: of Spark; empty for processes of this machine, or Spark if there is a session.
        processes: how many, on this machine; None for one a core.
    """

    kind: ClassVar[str] = "sweep"

    folder: str = ""
    seeds: tuple[str, ...] = ()
    protocol: tuple[str, ...] = ()
    variant: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    oracle: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    rounds: tuple[int, ...] = ()
    proposals: tuple[int, ...] = ()
    delay: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    schedule: tuple[str, ...] = ()
    faults: tuple[int, ...] = ()
    fault_kinds: tuple[str, ...] = ()
    sample: int | None = None
    sample_seed: int | None = None
    quorums: str = ""
    events: bool = False
    master: str = ""
    processes: int | None = None

    def validate(self) -> None:
        if not self.folder:
            raise RequestError("name the folder of the sweep")
        from traces.tables.places import address_of

        address = address_of(self.folder)
        if address is not None and not address.scheme:
            raise RequestError(f"a sweep is written to a folder, and {self.folder} is a table of a catalog")
        at_least(self, 1, "sample", "processes")
        at_least(self, 0, "sample_seed")
        check_text(self.quorums)
        if self.master and self.processes is not None:
            raise RequestError("--processes is for this machine, and --master for Spark")
        if not self.seeds:
            raise RequestError("--seeds is missing, for example --seeds 1:1001")
        if self.sample_seed is not None and self.sample is None:
            raise RequestError("--sample-seed needs --sample")

    @property
    def of_grid(self) -> dict[str, Any]:
        """The fields of the grid that are given."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in OF_FOLDER}
        return {name: value for name, value in values.items() if value not in (None, (), "")}

    def grid(self) -> Grid:
        """Return the grid.

        Raises:
            ConfigError: there is no such grid.
            TableError: events cannot be recorded of its runs.
        """
        from checker.zookeeper.releases import with_settings
        from traces.sweep.events import check_events
        from traces.sweep.grid import Grid
        from zabspec.authoring.quorums import system_for
        from zabspec.protocols.registry import PROTOCOLS

        servers = system_for(self.quorums, None)[1]
        sized: dict[str, tuple[int, ...]] = {"nodes": (servers,)} if servers is not None else {}
        found = [PROTOCOLS[name].usual_roles for name in self.protocol if name in PROTOCOLS]
        sized |= {"nodes": tuple(dict.fromkeys(roles.nodes for roles in found if roles))} if any(found) else {}
        of_grid = self.of_grid
        if "zookeeper" in self.protocol:  # what its releases do differently with settings belongs to them
            variants = (with_settings(PROTOCOLS["zookeeper"], name) for name in self.variant)
            of_grid |= {"variant": tuple(name.replace(",", "+") for name in variants)} if self.variant else {}
        grid = Grid(**(sized | of_grid))
        grid.check()
        if self.events:
            check_events(grid)
        return grid


class Bar:
    """Follows a sweep. This one shows nothing."""

    def say(self, what: str) -> None:
        """Show what is being done now."""

    def begin(self, total: int) -> None:
        """Show that runs begin, `total` in all."""

    def tell(self, done: int) -> None:
        """Show that `done` runs are finished."""

    def stop(self) -> None:
        """Show the end of the sweep."""


@dataclass(frozen=True)
class Swept:
    """A finished sweep.

    Attributes:
        found: for each program the first run that violates each property.
        table: the place of the table.
        files: the report; none at an address.
    """

    question: Grid
    summary: Summary
    found: tuple[SweepFinding, ...]
    table: str
    files: tuple[Path, ...]

    @property
    def code(self) -> int:
        """The exit code."""
        every = self.summary.every
        tested = any(tally.tested for tally in every.tallies.values())
        return VIOLATED if every.broken else NO_VERDICT if every.unfinished or not tested else HELD


def answer(request: SweepRequest, bar: Bar | None = None, parse: Callable[[str], Run] | None = None) -> Swept:
    """Run a grid, judge all runs, and write the tables and the report.

    Args:
        parse: returns the run of a command line of `zabcheck simulate`; the report's commands are checked with it.

    Raises:
        RequestError: there is no such sweep, the folder is in use, or a package is missing.
        NoVerdict: it is not finished, or a run differs from its row.
    """
    from traces.spark import NoSpark, SparkFailed
    from traces.spark.session import check_packages

    try:
        check_packages("pyarrow", "jinja2", "matplotlib")  # before what imports them
    except NoSpark as problem:
        raise RequestError(str(problem)) from None
    from traces.sweep.findings import NotRepeated, findings
    from traces.tables.places import Address, address_of
    from traces.tables.table import TableError
    from zabspec.model import ConfigError

    bar = bar or Bar()
    try:
        from traces.sweep.report import write_report
        from traces.sweep.summary import summary_of

        place: Place = address_of(request.folder) or place_of(request.folder)
        grid = request.grid()
        on_spark = bool(request.master) or has_session()
        if isinstance(place, Address) and not on_spark:
            raise RequestError(f"{place}: an address is written by Spark: add --master, for example 'local[*]'")
        if isinstance(place, Path):
            check_free(place)
        bar.begin(grid.count)
        if on_spark:
            alike, digest, table = swept_by_spark(request, grid, place)
        else:
            assert isinstance(place, Path)
            alike, digest, table = swept_here(request, grid, place, bar)
        summary = summary_of(grid, alike)
        bar.say("rerunning the first violating runs")
        found = findings(grid, summary, digest, parse)
        files = write_report(place, grid, summary, found) if isinstance(place, Path) else ()
        bar.stop()
        return Swept(grid, summary, found, table, files)
    except (ConfigError, NoSpark, TableError) as problem:
        raise RequestError(str(problem)) from None
    except (NotRepeated, SparkFailed) as problem:
        raise NoVerdict(str(problem)) from None
    except OSError as problem:
        raise NoVerdict(f"{request.folder} cannot be written: {problem.strerror or problem}") from None


def has_session() -> bool:
    """Return whether this process has a session of Spark, or was started by spark-submit."""
    from traces.spark.guest import host, is_submitted

    return is_submitted() or ("pyspark" in sys.modules and host() is not None)


def check_free(folder: Path) -> None:
    """Check that a folder holds no tables, and create it.

    Raises:
        RequestError: it does, or it cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = sorted(p.name for p in folder.iterdir() if p.name.startswith(("runs", "events")))
    except OSError as problem:
        raise RequestError(f"{folder} cannot be written: {problem.strerror}") from None
    if there:
        raise RequestError(f"{folder} has {there[0]} already; use another folder")


Answers = tuple["list[Alike]", Callable[[int], str], str]  # groups of runs, the digest of a run, the place of the table


def swept_here(request: SweepRequest, grid: Grid, folder: Path, bar: Bar) -> Answers:
    """Play a grid in processes of this machine.

    Raises:
        NoVerdict: it was interrupted.
        OSError: the tables cannot be written.
    """
    from traces.sweep.local import RUNS, write_tables
    from traces.sweep.summary import alike_in_table

    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done = count
        bar.tell(count)

    try:
        rows = write_tables(grid, folder, request.events, request.processes or 0, tell)
    except KeyboardInterrupt:
        raise NoVerdict(f"interrupted after {done:,} of {grid.count:,} configurations; no table was written") from None
    return alike_in_table(grid, rows), lambda number: str(rows.column("sha256")[number]), str(folder / RUNS)


def swept_by_spark(request: SweepRequest, grid: Grid, place: Place) -> Answers:
    """Play a grid on Spark, and write its DataFrames.

    Raises:
        NoSpark, SparkFailed: there is no session, or a job failed.
    """
    from traces.spark.session import session
    from traces.sweep.frames import events_frame, runs_frame
    from traces.sweep.summary import alike_in_frame, summary_of
    from traces.tables.places import Address

    where = place.text.rstrip("/") if isinstance(place, Address) else f"file://{place.absolute()}"
    with session(request.master, brief=True) as spark:
        runs_frame(spark, grid).write.parquet(f"{where}/runs")
        if request.events:
            events_frame(spark, grid).write.parquet(f"{where}/events")
        runs = spark.read.parquet(f"{where}/runs")
        alike = alike_in_frame(grid, runs)
        summary = summary_of(grid, alike)
        firsts = {tally.first for group in summary.programs.values() for tally in group.tallies.values()}
        rows = runs.where(runs.number.isin(sorted(firsts - {-1}))).select("number", "sha256").collect()
    digests = {row["number"]: row["sha256"] for row in rows}
    return alike, digests.__getitem__, f"{place}/runs"
