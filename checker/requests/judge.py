"""Judge an event table: the properties of histories over runs of any number and size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.model import near
from checker.requests.request import Request, at_least

if TYPE_CHECKING:
    from checker.report.judged import JudgedTable, JudgedUserTable
    from traces.judging.own import ObservationTotals
    from traces.judging.totals import Totals, Unit
    from traces.tables.own import Source

__all__ = ["ENGINES", "JudgeRequest", "answer", "judge_user_table", "own_source"]

ENGINES = ("plain", "spark")
HELD, VIOLATED, NO_VERDICT = 0, 1, 3


@dataclass(frozen=True)
class JudgeRequest(Request):
    """Judging an event table.

    Attributes:
        table: a Parquet file, or a folder of them.
        protocol: of a table of a user protocol, where its source is now; empty: where the table says.
        properties: names; none: all of histories.
        engine: `plain` or `spark`; None: Spark for large tables.
        master: of Spark. threads: of `plain`; None: all cores.
        allow_open: what a table leaves open is no reason for "no verdict".
    """

    kind: ClassVar[str] = "judge"

    table: str = ""
    protocol: str = ""
    properties: tuple[str, ...] = ()
    engine: str | None = None
    master: str | None = None
    threads: int | None = None
    allow_open: bool = False

    def validate(self) -> None:
        engine = self.engine
        if engine is not None and engine not in ENGINES:
            raise RequestError(
                f"there is no engine {engine!r}; there are {' and '.join(ENGINES)}{near(engine, ENGINES)}"
            )
        if engine == "plain" and self.master is not None:
            raise RequestError("--master is for --engine spark")
        if (engine == "spark" or self.master is not None) and self.threads is not None:
            raise RequestError("--threads is for --engine plain; with spark, say --master 'local[2]'")
        at_least(self, 1, "threads")


def own_source(table: Path, protocol: str) -> Source | None:
    """What a table of somebody's own protocol is of; None: it is an ordinary event table.

    Raises:
        RequestError: there is no table, or not that text.
    """
    from traces.tables.table import TableError, check_arrow

    try:
        check_arrow()
        from traces.tables.own import source_of

        found = source_of(table, protocol)
    except TableError as problem:
        raise RequestError(str(problem)) from None
    if protocol and found is None:
        raise RequestError(f"--protocol is for tables of your own protocol, and {table} is none")
    return found


def judge_user_table(request: JudgeRequest, source: Source) -> JudgedUserTable:
    """Judge a table of a user protocol.

    Raises:
        RequestError: the request is wrong.
        NoVerdict: Spark failed.
    """
    from checker.report.judged import JudgedUserTable
    from invariants import properties_of
    from invariants.registry import HISTORY
    from traces.tables.table import TableError

    if request.threads is not None:
        raise RequestError("a table of your own protocol is read by one thread; --master 'local[2]' takes two cores")
    named = {p.name: p for p in properties_of(source.protocol)}
    known = [name for name, p in named.items() if p.default]
    for name in request.properties:
        if name in named and name not in known:
            raise RequestError(f"a table is not judged by {name}: it is an @invariant; @safety is judged of every run")
        if name not in known:
            raise RequestError(f"there is no property {name!r}{near(name, known) or f'; there are {known}'}")
        if (of := named[name].of) != HISTORY:
            said = f"it is over {of}s, and a table has what observations show: over='history'"
            raise RequestError(f"a table is not judged by {name}: {said}")
    try:
        tally = own_judged(Path(request.table), source, request)
    except TableError as problem:
        raise RequestError(str(problem)) from None
    if not tally.runs:
        raise RequestError(f"{request.table}: there is no run in this table")
    is_open = any(c["open"] for c in tally.counts.values()) and not request.allow_open
    judged = any(c["held"] + c["violated"] + c["premise not reached"] + c["open"] for c in tally.counts.values())
    code = VIOLATED if tally.broken else NO_VERDICT if is_open or not judged else HELD
    return JudgedUserTable(request.table, tally, code, request.as_json())


def own_judged(table: Path, source: Source, request: JudgeRequest) -> ObservationTotals:
    """What judging a table of somebody's own protocol comes to, by the engine that was asked for.

    Raises:
        TableError: a run cannot be judged.
        RequestError, NoVerdict: there is no Spark, or it failed.
    """
    from checker.report.progress import StatusLine
    from traces.judging.own import judge_own, judge_own_on_spark
    from traces.spark import NoSpark, SparkFailed

    with StatusLine() as line:

        def progress(done: int, everything: int) -> None:
            if line.due():
                line.show(f"{done:,} of {everything:,} rows judged ({100 * done // max(1, everything)} %)")

        if request.engine != "spark" and request.master is None:
            return judge_own(table, source, request.properties, progress)
        try:
            return judge_own_on_spark(table, source, request.properties, request.master, progress)
        except NoSpark as problem:
            raise RequestError(f"{problem}; --engine plain needs no Spark") from None
        except SparkFailed as problem:
            raise NoVerdict(str(problem)) from None


def answer(request: JudgeRequest) -> JudgedTable:
    """Judge a table; nothing is printed.

    Raises:
        RequestError: the question was wrong.
        NoVerdict: Spark failed.
    """
    from checker.report.judged import JudgedTable
    from traces.tables.table import TableError, check_arrow

    table = Path(request.table)
    try:
        check_arrow("numpy")
    except TableError as problem:
        raise RequestError(str(problem)) from None
    from traces.judging.judge import read_units
    from traces.judging.runs import JUDGED

    check_names(request.properties, [p.name for p in JUDGED])
    try:
        units = read_units(table)
        if not units:
            raise TableError(f"{table}: there is no run in this table")
        tally = judged(units, request)
    except TableError as problem:
        raise RequestError(str(problem)) from None
    asked = tuple(p.name for p in JUDGED if not request.properties or p.name in request.properties)
    unsettled = ("undecided",) if request.allow_open else ("undecided", "open")
    code = VIOLATED if tally.violations else NO_VERDICT if any_is(tally, asked, unsettled) else HELD
    return JudgedTable(request.table, tally, asked, code, request.as_json())


def check_names(names: tuple[str, ...], known: list[str]) -> None:
    """
    Raises:
        RequestError: there is no such property, or none of histories.
    """
    from invariants import PROPERTIES
    from invariants.registry import HISTORY

    for name in names:
        if name not in known:
            found = [p for p in PROPERTIES if p.name == name]
            if found and found[0].of == HISTORY:
                whose = " and ".join(found[0].protocols)
                raise RequestError(f"{name} is asked of {whose} alone, and a table does not say what it is of")
            if found:
                raise RequestError(f"{name} is over the state of a protocol, which a table does not hold")
            raise RequestError(f"there is no property {name!r}{near(name, known) or '; see `zabcheck properties`'}")


def judged(units: list[Unit], request: JudgeRequest) -> Totals:
    """What judging comes to, by the engine that was asked for.

    Raises:
        TableError: a run cannot be judged.
        RequestError, NoVerdict: there is no Spark, or it failed.
    """
    from checker.report.progress import StatusLine
    from traces.judging.judge import LARGE, judge_on_spark, judge_plainly
    from traces.spark import NoSpark, SparkFailed

    engine = request.engine
    rows = sum(u.rows for u in units)
    if engine is None:
        engine = "spark" if request.master is not None or rows > LARGE else "plain"
    with StatusLine() as line:

        def progress(done: int, everything: int, tally: Totals) -> None:
            if line.due():
                broken = f", {len(tally.violations):,} violations" if tally.violations else ""
                line.show(f"{done:,} of {everything:,} rows judged ({100 * done // max(1, everything)} %){broken}")

        if engine == "plain":
            return judge_plainly(units, request.properties, request.threads or os.cpu_count() or 1, progress)
        try:
            return judge_on_spark(units, request.properties, request.master, progress)
        except NoSpark as problem:
            raise RequestError(f"{problem}; --engine plain needs no Spark") from None
        except SparkFailed as problem:
            raise NoVerdict(str(problem)) from None


def any_is(tally: Totals, asked: Sequence[str], words: tuple[str, ...]) -> bool:
    """Whether any of these is said of a property in any run."""
    return any(tally.count(name, word) for name in asked for word in words)
