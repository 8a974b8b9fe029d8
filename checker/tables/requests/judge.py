"""Judge an event table: the properties of histories over runs of any number and size."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, cast

from checker.errors import HELD, NO_VERDICT, VIOLATED, NoVerdict, RequestError
from checker.opinion.outcome import SecondOpinion
from checker.output_files import save_file
from checker.requests.base.bounded import Checked, ComparedRuns
from checker.requests.base.request import Count, File, Option, Request, function, names_in
from checker.requests.base.watch import QUIET, Watch
from zabspec.files import place_of, without_secrets
from zabspec.typed import near

if TYPE_CHECKING:
    from checker.tables.report.judged import Judged
    from invariants.registry import Property
    from traces.events.places import Place
    from traces.judging.totals import Totals, Unit


@dataclass(frozen=True)
class JudgeRequest(Request):
    """Check every run in an event table (a Parquet file, or a folder of them) against the properties of histories.

    An address is read by pyarrow (s3://, gs://), or by Spark (s3a://, hdfs://, viewfs://, CATALOG.SCHEMA.TABLE).

    A run is checked at the end of each of its moments; a moment is the rows of one time. A table does not show the
    properties of a protocol's state, such as the invariants of section VI. A property that depends on unknown values is
    open: neither holds nor violated.

    Exit codes: 0 all hold, 1 a run violates a property, 2 the request is wrong, 3 no verdict: no premise is reached,
    some properties are open, or rows are missing.

    Examples:
      zabcheck simulate --seed 14 --table run.parquet
      zabcheck judge run.parquet
      zabcheck judge run.parquet --property agreement --violations broken.jsonl
      zabcheck judge run.parquet --engine spark --master 'local[2]' --json
    """

    kind: ClassVar[str] = "judge"
    group: ClassVar[str] = "Runs"

    table: Annotated[File, Option(place="table", argument=True)] = ""
    properties: Checked = ()
    engine: Annotated[
        Literal["plain", "spark"] | None, Option("plain (this process, the default) or spark.", metavar="NAME")
    ] = None
    master: Annotated[str | None, Option("With --engine spark: the Spark master (local[*]).", metavar="URL")] = None
    threads: Annotated[
        Count | None, Option("With --engine plain: number of threads; one for each core if not given.")
    ] = None
    rows: Annotated[Count | None, Option("Rows that the table must have; else exit 3.")] = None
    allow_open: Annotated[bool, Option("Exit with 0, not 3, if one holds, others are open and none is violated.")] = (
        False
    )
    second_opinion: ComparedRuns = None
    violations: Annotated[File | None, Option("Write every violation to this file, as JSON lines.", place="stream")] = (
        None
    )

    def validate(self) -> None:
        engine = self.engine
        if engine == "plain" and self.master is not None:
            raise RequestError("--master is for --engine spark")
        if (engine == "spark" or self.master is not None) and self.threads is not None:
            raise RequestError("--threads is for --engine plain; with spark, use --master 'local[2]'")
        if self.violations is not None and Path(self.violations).resolve().is_relative_to(Path(self.table).resolve()):
            raise RequestError(f"--violations {self.violations} would write into the table that is checked")

    def answer(self, watch: Watch = QUIET) -> Judged:
        from checker.tables.report.judged import Judged
        from traces.events.places import address_of
        from traces.events.table import check_arrow

        check_arrow("numpy")
        from traces.judging.judge import read_units
        from traces.judging.runs import JUDGED

        address = address_of(fspath(self.table))
        table = address or place_of(fspath(self.table))
        only_spark = address is not None and not address.by_arrow
        tally: Totals | None = None
        known, usual = [p.name for p in JUDGED], [p.name for p in JUDGED if p.default]
        check_names(names_in(self.properties), known)
        if only_spark or self.engine == "spark" or self.master is not None:
            tally = judged_by_spark(table, self)
        units = [] if tally is not None else read_units(table)
        if units:
            tally = judged(units, self)
            tally.further = [*dict.fromkeys(name for unit in units for part in unit.parts for name in part.further)]
        if tally is None or not tally.runs:
            raise NoVerdict(f"{table}: there is no run in this table")
        asked = tuple(name for name in known if name in (names_in(self.properties) or usual))
        note_unused(tally, self.rows)
        unsettled = ("undecided",) if self.allow_open else ("undecided", "open")
        settled = self.rows in (None, tally.rows) and not any_is(tally, asked, unsettled)
        code = VIOLATED if tally.violations else HELD if settled and any_is(tally, asked, ("holds",)) else NO_VERDICT
        left_out = [name for name in known if name not in asked]
        second = opinion(units, tally, asked, cast("int | None", self.second_opinion))
        code = NO_VERDICT if second.trouble else code
        named = fspath(self.table) if address is None else str(address)  # without what is secret in it
        found = Judged(named, tally, asked, code, self.as_json() | {"table": named}, left_out, second)
        if self.violations is not None:
            save_file(
                Path(self.violations), "".join(json.dumps(v) + "\n" for v in found.as_json()["violations"]).encode()
            )
        return found


judge = function(JudgeRequest)


def opinion(units: Sequence[Unit], tally: Totals, asked: Sequence[str], count: int | None) -> SecondOpinion:
    """Return how some runs are judged by definition."""
    if not units:
        return SecondOpinion(none="Spark reads the table" if count != 0 else "")
    from checker.opinion.judged import drawn_of_table, opinion_of_runs

    return opinion_of_runs(drawn_of_table(units, tally, asked), asked, count)


def note_unused(tally: Totals, rows: int | None) -> None:
    """Note in totals what of a table was not used, and whether it has another number of rows than expected.

    Args:
        rows: the expected number; None for any.
    """
    from traces.events.table import KINDS, printable

    for kind, count in sorted(tally.unused.items()):
        plural = "row is" if count == 1 else "rows are"
        tally.notes.append(
            f"{count:,} {plural} not used: there is no kind {printable(kind)!r}{near(kind.lower(), KINDS)}"
        )
    if names := ", ".join(printable(name) for name in tally.further):
        tally.notes.append(f"columns that are not used: {names}")
    if rows not in (None, tally.rows):
        tally.notes.append(f"the table has {tally.rows:,} rows, and {rows:,} are expected")


def judged_by_spark(place: Place, request: JudgeRequest) -> Totals:
    """Judge a table that Spark reads; return the totals.

    Raises:
        TableError: it is not a table.
        RequestError, NoVerdict: there is no Spark, it is excluded, or it failed.
    """
    from traces.tables.judging.frames import judge_place
    from traces.tables.spark import NoSpark, SparkFailed

    if request.engine == "plain" or request.threads is not None:
        raise RequestError(f"{place}: only Spark reads this: omit --engine plain and --threads")
    try:
        return judge_place(place, names_in(request.properties), request.master)
    except NoSpark as problem:
        raise RequestError(f"{problem}; --engine plain needs no Spark") from None
    except SparkFailed as problem:
        raise NoVerdict(without_secrets(str(problem))) from None


def check_names(names: tuple[str, ...], known: list[str]) -> None:
    """Check that properties can be judged on a table.

    Raises:
        RequestError: there is no such property, or it is not a history property.
    """
    from invariants import PROPERTIES
    from invariants.registry import HISTORY

    for name in names:
        if name not in known:
            found = [p for p in PROPERTIES if p.name == name]
            if found and not found[0].default:
                raise RequestError(not_of_tables(found[0]))
            if found and found[0].of == HISTORY:
                whose = " and ".join(found[0].protocols)
                raise RequestError(f"{name} is a property of {whose} only, and a table does not name its protocol")
            if found:
                raise RequestError(f"{name} is about the state of a protocol, which a table does not have")
            raise RequestError(f"there is no property {name!r}{near(name, known) or '; see `zabcheck properties`'}")


def not_of_tables(p: Property) -> str:
    """Return the sentence on a property that tables are not judged by: what judges it, and what tables lack."""
    from invariants.registry import HISTORY

    if p.of != HISTORY or p.passes:
        return f"{p.name} is checked by `zabcheck --property {p.name}`, in explored states only"
    return (
        f"{p.name} is checked by `zabcheck --property {p.name}`, in explored states, and by `zabcheck simulate "
        f"--check --property {p.name}`: in a table the column `pass` of an abcast is null, so the redeliveries of "
        f"its primary are unknown"
    )


def judged(units: Sequence[Unit], request: JudgeRequest) -> Totals:
    """Judge units in this process and return the totals.

    Raises:
        TableError: a run cannot be judged.
    """
    from checker.report.progress import StatusLine
    from traces.judging.judge import judge_plainly

    threads = request.threads or os.cpu_count() or 1
    with StatusLine() as line:

        def progress(done: int, everything: int, tally: Totals) -> None:
            if line.due():
                broken = f", {len(tally.violations):,} violations" if tally.violations else ""
                line.show(f"{done:,} of {everything:,} rows checked ({100 * done // max(1, everything)} %){broken}")

        return judge_plainly(units, names_in(request.properties), threads, progress)


def any_is(tally: Totals, asked: Sequence[str], words: tuple[str, ...]) -> bool:
    """Return whether a property has any of these verdicts in any run."""
    return any(tally.count(name, word) for name in asked for word in words)
