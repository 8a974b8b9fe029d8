"""Run a grid of simulated configurations, or a sample of it, and judge every run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from os import fspath
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from checker.errors import NoVerdict, RequestError
from checker.opinion.outcome import RUNS, SecondOpinion
from checker.requests.base.bounded import ComparedRuns
from checker.requests.base.model import Quorums
from checker.requests.base.request import Count, File, Option, Request, Words, function, names_in, names_of
from checker.requests.base.watch import QUIET, Watch
from zabspec.files import place_of
from zabspec.typed import Natural

if TYPE_CHECKING:
    from checker.tables.report.swept import Swept
    from traces.events.places import Place
    from traces.tables.sweep.grid import Grid
    from traces.tables.sweep.summary import Alike

    Numbers = Iterable[int] | int | str
else:
    Numbers = tuple[int, ...]
OF_FOLDER = ("folder", "events", "second_opinion", "master", "processes")  # the fields that are not of the grid


def listed(flag: str, of: type[int] | type[str] = str) -> Callable[[Any], tuple[Any, ...]]:
    """Return the conversion of one value or several, as text with commas between them."""

    def read(given: Any) -> tuple[Any, ...]:
        out: list[Any] = []
        for each in names_of(given):
            words = [word.strip() for word in each.split(",")] if isinstance(each, str) else [each]
            for word in words:
                if word == "" and of is str:
                    raise RequestError(f"{flag} lists values with commas between them; {each!r} has an empty one")
                if isinstance(word, str) and of is int:
                    if not (word.isascii() and word.isdecimal() and len(word) < 10):
                        raise RequestError(f"{flag} lists numbers with commas between them; {word!r} is none")
                    word = int(word)
                out.append(word)
        return tuple(out)

    return read


def several(words: str, flag: str, of: type[int] | type[str] = str) -> Option:
    """Return the option of a field with one value or several."""
    return Option(words, metavar="LIST", reads=listed(flag, of))


@dataclass(frozen=True)
class SweepRequest(Request):
    """Run every configuration of a grid in the simulator and check it against every property of histories.

    FOLDER receives a table of all runs and a report. Runs are played in processes of this machine; with --master, or in
    a session of Spark, as its tasks, and FOLDER may be an address (s3a://, hdfs://), which receives the tables alone.
    All options but --seeds have one value unless given several.

    Exit codes: 0 no property is violated; 1 some property is; 2 the request is wrong; 3 the sweep is not finished, or
    reaches no premise.

    Examples:
      zabcheck sweep seeds --seeds 1:100001
      zabcheck sweep rough --seeds 1:10001 --nodes 3,5 --delay 1:3,1:40 --faults 0,1,4
      zabcheck sweep variants --seeds 1:5001 --variant none,no-holes,repaired --faults 3
      zabcheck sweep sample --seeds 0:1000000 --nodes 3,5,7 --proposals 3,5,10,20 --sample 50000
      zabcheck sweep s3a://lake/out --seeds 1:100000001 --master spark://head:7077
    """

    kind: ClassVar[str] = "sweep"
    group: ClassVar[str] = "Runs"

    folder: Annotated[File, Option(place="table", argument=True)] = ""
    seeds: Annotated[
        Words,
        Option(
            "Range of seeds, without STOP; or single seeds, or several ranges.",
            metavar="START:STOP",
            reads=listed("--seeds"),
        ),
    ] = ()
    protocol: Annotated[Words, several("Protocol: db19 (the default) or zab.", "--protocol")] = ()
    variant: Annotated[Words, several("Variants; `none` is the protocol itself.", "--variant")] = ()
    network: Annotated[
        Words,
        several("zab: fifo, lossy, unordered, duplicating, stale; db19: datagrams, ordered, fifo.", "--network"),
    ] = ()
    oracle: Annotated[
        Words,
        several("With zab: `lab`, the lab's election, or `round-robin`; `none`: the seed chooses leaders.", "--oracle"),
    ] = ()
    quorums: Quorums = ""
    nodes: Annotated[Numbers, several("Processes (3).", "--nodes", int)] = ()
    rounds: Annotated[Numbers, several("Ticks (1000).", "--rounds", int)] = ()
    proposals: Annotated[Numbers, several("Proposals (5).", "--proposals", int)] = ()
    delay: Annotated[
        Words,
        several("Least and largest delay of a message in ticks, LEAST:MOST (1:3).", "--delay"),
    ] = ()
    partition: Annotated[
        Words, Option("Directed pairs of processes, or `none`; each repetition adds a value.", metavar="S,D,...")
    ] = ()
    schedule: Annotated[
        Words,
        Option(
            "Faults, as 'crash 1@300 recover 1@450 cut 0:2@400', or `none`; each repetition adds a value.",
            metavar="TEXT",
        ),
    ] = ()
    faults: Annotated[
        Numbers, Option("Number of random faults, by the seed (0).", metavar="LIST", reads=listed("--faults", int))
    ] = ()
    fault_kinds: Annotated[
        Words,
        several("Kinds of random faults: cut, crash, timeout, lose (all).", "--fault-kinds"),
    ] = ()
    sample: Annotated[Count | None, Option("Run N random configurations of the grid.")] = None
    sample_seed: Annotated[Natural | None, Option("Seed of the sample (0).")] = None
    events: Annotated[bool, Option("Keep the events of the runs, as an event table: FOLDER/events.")] = False
    second_opinion: ComparedRuns = None
    master: Annotated[str, Option("Run on Spark, with this master.", metavar="URL")] = ""
    processes: Annotated[Count | None, Option("Processes of this machine (all cores).")] = None

    def validate(self) -> None:
        if not self.folder:
            raise RequestError("name the folder of the sweep")
        from traces.events.places import address_of

        address = address_of(self.name)
        if address is not None and not address.scheme:
            raise RequestError(f"a sweep is written to a folder, and {self.name} is a table of a catalog")
        if self.master and self.processes is not None:
            raise RequestError("--processes is for this machine, and --master for Spark")
        if not self.seeds:
            raise RequestError("--seeds is missing, for example --seeds 1:1001")
        if self.sample_seed is not None and self.sample is None:
            raise RequestError("--sample-seed needs --sample")

    @property
    def name(self) -> str:
        """The folder, as the user names it."""
        return fspath(self.folder)

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
        from traces.tables.sweep.events import check_events
        from traces.tables.sweep.grid import Grid
        from zabspec.authoring.quorums import system_for
        from zabspec.protocols.registry import PROTOCOLS

        servers = system_for(fspath(self.quorums), None)[1]
        sized: dict[str, tuple[int, ...]] = {"nodes": (servers,)} if servers is not None else {}
        found = [PROTOCOLS[name].usual_roles for name in names_in(self.protocol) if name in PROTOCOLS]
        sized |= {"nodes": tuple(dict.fromkeys(roles.nodes for roles in found if roles))} if any(found) else {}
        of_grid = self.of_grid
        for p in (PROTOCOLS[name] for name in names_in(self.protocol) if name in PROTOCOLS):
            if p.declared.releases and self.variant:  # what they do differently with settings belongs to them
                variants = map(p.with_settings, names_in(self.variant))
                of_grid |= {"variant": tuple(name.replace(",", "+") for name in variants)}
        grid = Grid(**(sized | of_grid))
        grid.check()
        if self.events:
            check_events(grid)
        return grid

    def answer(self, watch: Watch = QUIET) -> Swept:
        from checker.tables.report.swept import Swept
        from traces.tables.spark.session import check_packages

        check_packages("pyarrow", "numpy", "matplotlib")  # before what imports them
        from traces.events.places import Address, address_of
        from traces.tables.sweep.findings import findings

        try:
            from traces.tables.sweep.report import write_report
            from traces.tables.sweep.summary import summary_of

            place: Place = address_of(self.name) or place_of(self.name)
            grid = self.grid()
            on_spark = bool(self.master) or has_session()
            if isinstance(place, Address) and not on_spark:
                raise RequestError(f"{place}: an address is written by Spark: add --master, for example 'local[*]'")
            if isinstance(place, Path):
                check_free(place)
            with watch.working() as show:
                wanted = RUNS if self.second_opinion is None else int(self.second_opinion)
                drawn = Random(wanted).sample(range(grid.count), min(wanted, grid.count))
                if on_spark:
                    alike, row_of, table = swept_by_spark(self, grid, place, drawn)
                else:
                    assert isinstance(place, Path)
                    alike, row_of, table = swept_here(self, grid, place, show)
                summary = summary_of(grid, alike)
                show("rerunning the first violating runs")
                found = findings(grid, summary, lambda number: str(row_of(number)["sha256"]))
                second = opinion(grid, row_of, drawn, cast("int | None", self.second_opinion))
                files = write_report(place, grid, summary, found) if isinstance(place, Path) else ()
            return Swept(self, grid, summary, found, table, files, second)
        except OSError as problem:
            raise NoVerdict(f"{self.name} cannot be written: {problem.strerror or problem}") from None


sweep = function(SweepRequest)


def has_session() -> bool:
    """Return whether this process has a session of Spark, or was started by spark-submit."""
    from traces.tables.spark.guest import host, is_submitted

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


# Groups of runs, the row of a run by its number, the place of the table.
Answers = tuple["list[Alike]", Callable[[int], Mapping[str, Any]], str]


def swept_here(request: SweepRequest, grid: Grid, folder: Path, show: Callable[[str], None]) -> Answers:
    """Play a grid in processes of this machine.

    Raises:
        NoVerdict: it was interrupted.
        OSError: the tables cannot be written.
    """
    from traces.tables.sweep.local import RUNS, write_tables
    from traces.tables.sweep.summary import alike_in_table

    done, began = 0, time.perf_counter()

    def tell(count: int) -> None:
        nonlocal done
        done = count
        spent = max(time.perf_counter() - began, 1e-9)
        left = spent * (grid.count - count) / max(count, 1)
        show(f"{count:,} of {grid.count:,} runs, {count / spent:,.0f} a second, {left:,.0f} s left")

    try:
        rows = write_tables(grid, folder, request.events, request.processes or 0, tell)
    except KeyboardInterrupt:
        raise NoVerdict(f"interrupted after {done:,} of {grid.count:,} configurations; no table was written") from None
    return alike_in_table(grid, rows), lambda number: rows.slice(number, 1).to_pylist()[0], str(folder / RUNS)


def swept_by_spark(request: SweepRequest, grid: Grid, place: Place, drawn: Iterable[int]) -> Answers:
    """Play a grid on Spark, and write its DataFrames.

    Args:
        drawn: runs whose rows are needed, besides the first that violates each property.

    Raises:
        NoSpark, SparkFailed: there is no session, or a job failed.
    """
    from traces.events.places import Address
    from traces.tables.spark.session import session
    from traces.tables.sweep.frames import events_frame, runs_frame
    from traces.tables.sweep.summary import alike_in_frame, summary_of

    where = place.text.rstrip("/") if isinstance(place, Address) else f"file://{place.absolute()}"
    with session(request.master, brief=True) as spark:
        runs_frame(spark, grid).write.parquet(f"{where}/runs")
        if request.events:
            events_frame(spark, grid).write.parquet(f"{where}/events")
        runs = spark.read.parquet(f"{where}/runs")
        alike = alike_in_frame(grid, runs)
        summary = summary_of(grid, alike)
        firsts = {tally.first for group in summary.programs.values() for tally in group.tallies.values()}
        rows = runs.where(runs.number.isin(sorted({*firsts, *drawn} - {-1}))).collect()
    found = {row["number"]: row.asDict() for row in rows}
    return alike, found.__getitem__, f"{place}/runs"


def opinion(
    grid: Grid, row_of: Callable[[int], Mapping[str, Any]], drawn: Sequence[int], count: int | None
) -> SecondOpinion:
    """Return how some runs, played again by the interpreter, are judged by definition."""
    from checker.opinion.judged import Drawn, opinion_of_runs
    from traces.events.table import TableError
    from traces.tables.sweep.block import properties_of
    from traces.tables.sweep.events import check_events, events_of

    names = properties_of(grid)
    try:
        check_events(grid)
    except TableError as problem:
        return SecondOpinion(none=str(problem) if drawn else "")

    def draw(*_: object) -> Iterator[Drawn]:
        for number in drawn:
            said = {name: row_of(number)[name] or "not judged" for name in names}
            for rows in events_of(grid, number):
                yield Drawn(number, rows.to_pylist(), said)

    return opinion_of_runs(draw, names, count)
