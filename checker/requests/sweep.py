"""Run a grid of simulated configurations on Spark, or a sample of it, and judge every run."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.quorum_system import check_text
from checker.requests.request import Request, at_least
from zabspec.files import place_of, without_secrets

if TYPE_CHECKING:
    from traces.sweep.checksum import CheckedBlock
    from traces.sweep.findings import SweepFinding
    from traces.sweep.grid import Grid
    from traces.sweep.remote import RemoteSweep
    from traces.sweep.spot_check import SpotCheck
    from traces.sweep.store import Store
    from traces.sweep.summary import Summary
    from traces.tables.places import Address
    from zabspec.simulator.run import Run

HELD, VIOLATED, NO_VERDICT = 0, 1, 3
MEMORY = 1 << 30  # for Java, which distributes blocks and adds up
OF_FOLDER = ("folder", "events", "master")  # the fields that are not of the grid
CHECKED = {"spark.hadoop.parquet.page.verify-checksum.enabled": "true"}


@dataclass(frozen=True)
class SweepRequest(Request):
    """A sweep. Empty or None values have the defaults of `traces.sweep.grid.Grid`, which has the same names.

    Attributes:
        folder: receives a table of all runs and a report: a path, or an address.
        seeds: ranges `START:STOP`, or single seeds; without these and any of the grid, the folder's sweep is resumed.
        protocol, variant, network, oracle: programs.
        nodes, rounds, proposals, delay, partition, schedule: of runs.
        faults: the number drawn from the seed; fault_kinds: their kinds.
        sample: the number of configurations drawn from the grid; sample_seed: the seed for that.
        quorums: the text of the quorum system of every run; empty for majorities.
        events: whether the events of the runs are saved as well, as an event table.
        master: of Spark.
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

    def validate(self) -> None:
        if not self.folder:
            raise RequestError("name the folder of the sweep")
        from traces.tables.places import address_of

        address = address_of(self.folder)
        if address is not None and not address.scheme:
            raise RequestError(f"a sweep is written to a folder, and {self.folder} is a table of a catalog")
        at_least(self, 1, "sample")
        at_least(self, 0, "sample_seed")
        check_text(self.quorums)
        if self.of_grid and not self.seeds:
            raise RequestError("--seeds is missing, for example --seeds 1:1001")
        if self.sample_seed is not None and self.sample is None:
            raise RequestError("--sample-seed needs --sample")

    @property
    def of_grid(self) -> dict[str, Any]:
        """The fields of the grid that are given."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in OF_FOLDER}
        return {name: value for name, value in values.items() if value not in (None, (), "")}

    def grid(self) -> Grid | None:
        """Return the grid, or None if the request has none, and the folder's sweep is resumed.

        Raises:
            ConfigError: there is no such grid.
            TableError: events cannot be recorded of its runs.
        """
        from checker.zookeeper.releases import with_settings
        from traces.sweep.events import check_events
        from traces.sweep.grid import Grid
        from zabspec.authoring.quorums import system_for
        from zabspec.protocols.registry import PROTOCOLS

        if not self.of_grid:
            return None
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
        again: runs that were repeated as a spot check.
        files: the report.
        address: where table and report are, if it is not this machine.
    """

    store: Store
    summary: Summary
    found: tuple[SweepFinding, ...]
    again: SpotCheck
    files: tuple[Path, ...]
    address: Address | None = None

    @property
    def table(self) -> str:
        """The place of the table."""
        return str(self.store.runs) if self.address is None else f"{self.address}/runs.parquet"

    @property
    def reports(self) -> list[str]:
        """The place of the report."""
        return [str(path) if self.address is None else f"{self.address}/{path.name}" for path in self.files]

    @property
    def code(self) -> int:
        """The exit code."""
        every = self.summary.every
        return VIOLATED if every.broken else NO_VERDICT if every.unfinished else HELD


def answer(request: SweepRequest, bar: Bar | None = None, parse: Callable[[str], Run] | None = None) -> Swept:
    """Run what is missing in the folder, judge all runs, and write the report.

    Args:
        parse: returns the run of a command line of `zabcheck simulate`; the report's commands are checked with it.

    Raises:
        RequestError: there is no such sweep, the folder cannot hold it, or a package is missing.
        NoVerdict: it is not finished, or a run differs from its row.
    """
    from traces.spark import NoSpark, SparkFailed
    from traces.spark.session import check_installed

    try:
        check_installed("jinja2", "matplotlib")
        from traces.sweep.findings import NotRepeated
        from traces.sweep.store import StoreError
        from traces.tables.places import address_of
        from traces.tables.table import TableError
        from zabspec.model import ConfigError

        try:
            address = address_of(request.folder)
            if address is not None:
                return answer_at(address, request, bar or Bar(), parse)
            sweep = Sweep(place_of(request.folder), request.grid(), bar or Bar(), request.events)
            return sweep.answer(request.master, parse)
        except (ConfigError, StoreError, TableError) as problem:
            raise RequestError(str(problem)) from None
        except NotRepeated as problem:
            raise NoVerdict(str(problem)) from None
    except NoSpark as problem:
        raise RequestError(str(problem)) from None
    except SparkFailed as problem:
        where = without_secrets(request.folder)
        raise NoVerdict(f"{problem}; finished configurations are in {where}, and the same command continues") from None


def answer_at(address: Address, request: SweepRequest, bar: Bar, parse: Callable[[str], Run] | None) -> Swept:
    """Run a sweep at an address, as `answer` does in a folder: on a copy, from which each finished block is uploaded.

    Raises:
        NoSpark, SparkFailed, NotRepeated, StoreError, ConfigError, TableError, NoVerdict: as for a folder.
    """
    from traces.spark import SparkFailed
    from traces.spark.session import session
    from traces.sweep.remote import RemoteSweep
    from traces.sweep.store import StoreError
    from traces.tables.remote import RemoteError, remote_folder
    from zabspec.temporary import temporary_folder

    grid = request.grid()
    bar.say("starting Spark")
    with temporary_folder("sweep") as top:
        folder = top / "copy"
        folder.mkdir()
        try:
            with session(request.master, brief=True, memory=MEMORY, conf=CHECKED) as spark:
                try:
                    remote = RemoteSweep(address, remote_folder(address, spark), folder)
                    remote.fetch()
                except RemoteError as problem:
                    raise StoreError(str(problem)) from None
                try:
                    sweep = Sweep(folder, grid, bar, request.events, remote)
                    swept = sweep.answer("", parse)
                    bar.say("the table")
                    remote.publish(sweep.store)
                except RemoteError as problem:
                    raise SparkFailed(str(problem)) from None
        except (StoreError, SparkFailed, NoVerdict) as problem:
            raise type(problem)(str(problem).replace(str(folder), str(address))) from None
        return swept


class Sweep:
    """A sweep in progress.

    Args:
        remote: a further place for blocks.

    Raises:
        StoreError: the folder cannot hold it.
    """

    def __init__(
        self, folder: Path, question: Grid | None, bar: Bar, events: bool = False, remote: RemoteSweep | None = None
    ) -> None:
        from traces.sweep.job import block_for
        from traces.sweep.store import open_store

        bar.say("planning")
        self.bar, self.remote = bar, remote
        self.store: Store = open_store(folder, question, partial(block_for, events=events), events)

    def answer(self, master: str, parse: Callable[[str], Run] | None = None) -> Swept:
        """Run the sweep and write its report.

        Raises:
            NoSpark, SparkFailed, NotRepeated, NoVerdict: there is no answer, or only a part of it.
        """
        from traces.sweep.findings import NotRepeated, findings
        from traces.sweep.report import write_report
        from traces.sweep.spot_check import run_again

        summary, kept = self.run(master)
        self.bar.say("rerunning some runs")
        try:
            found = findings(self.store, summary, parse)
            again = run_again(self.store, kept)
        except (NotRepeated, OSError, ValueError):
            self.remove_damaged()
            raise
        self.bar.say("the report")
        try:
            files = write_report(self.store, summary, found, again)
        except OSError as problem:
            raise NoVerdict(f"cannot write the report to {self.store.folder}: {problem.strerror}") from None
        self.bar.stop()
        address = None if self.remote is None else self.remote.address
        return Swept(self.store, summary, found, again, files, address)

    def run(self, master: str) -> tuple[Summary, dict[int, CheckedBlock]]:
        """Run every missing block; return the summary, and the content of each block.

        Raises:
            NoSpark, SparkFailed, NoVerdict: it is not finished.
        """
        from traces.spark import NoSpark, SparkFailed
        from traces.spark.session import session
        from traces.sweep.job import run_missing
        from traces.sweep.store import StoreError
        from traces.sweep.summary import summarise

        try:
            self.bar.say("starting Spark")
            with session(master, brief=True, memory=MEMORY, conf=CHECKED) as spark:
                self.bar.begin(self.store.question.count)
                kept = self.store.check()
                missing = [block for block in range(self.store.blocks) if block not in kept]
                if self.remote is None:
                    kept |= run_missing(spark, self.store, missing, self.bar.tell)
                else:
                    self.remote.run(spark, self.store, missing, self.bar.tell)
                    kept |= self.store.check(missing)
                self.bar.say("adding up")
                summary = summarise(spark, self.store, away=self.remote is not None)
            if summary.every.runs != self.store.question.count:
                raise StoreError(f"{self.store.runs} has folders with tables that are not of this sweep")
            return summary, kept
        except NoSpark:
            self.store.withdraw()
            raise
        except SparkFailed:
            self.remove_damaged()
            raise
        except KeyboardInterrupt:
            done = sum(len(self.store.numbers(block)) for block in self.store.finished())
            raise NoVerdict(
                f"interrupted with {done:,} of {self.store.question.count:,} configurations finished; "
                f"`zabcheck sweep {shlex.quote(str(self.store.folder))}` continues"
            ) from None

    def remove_damaged(self) -> None:
        """Remove files with damaged or wrong rows, so that their runs are repeated.

        Raises:
            SparkFailed: there are some.
        """
        from traces.spark import SparkFailed

        damaged = len(self.store.finished()) - len(self.store.check())
        if damaged:
            files = "a file was" if damaged == 1 else f"{damaged:,} files were"
            raise SparkFailed(f"{files} damaged, and will be recomputed")
