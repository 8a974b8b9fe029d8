"""`zabcheck judge`: the properties of histories over event tables of any size."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    HELD,
    INPUT_OR_FOLDER,
    NO_VERDICT,
    PATH,
    VIOLATED,
    Cannot,
    Subcommand,
    at_least,
    check_writable,
    complain,
    near,
    say,
    write_file,
)

if TYPE_CHECKING:
    from traces.judging.gaps import Gap, Where
    from traces.judging.own import OwnTally
    from traces.judging.tally import Tally, Unit
    from traces.tables.own import Source

__all__ = ["answered", "as_text", "judge"]

ENGINES = ("plain", "spark")
QUOTED = 3  # violations of a property that are told in the text
EXAMPLES = """\b
Examples:
  zabcheck simulate --seed 14 --table run.parquet
  zabcheck judge run.parquet
  zabcheck judge run.parquet --property agreement --violations broken.jsonl
  zabcheck judge run.parquet --engine spark --master 'local[2]' --json
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("table", type=INPUT_OR_FOLDER)
@click.option("--protocol", default="", metavar="NAME", help="Of a table of your own protocol: where its text is now.")
@click.option("--property", "names", multiple=True, metavar="NAME", help="Judge only this property (repeatable).")
@click.option(
    "--engine", metavar="NAME", help="plain (this process alone), or spark; if not given, spark for large tables."
)
@click.option("--master", metavar="URL", help="spark: where it runs (local[*]).")
@click.option("--threads", type=int, callback=at_least(1), help="plain: cores to use; all if not given.")
@click.option("--allow-open", is_flag=True, help="What a table leaves open is no reason to end with 3.")
@click.option("--violations", type=PATH, metavar="FILE", help="Write every violation, as JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
def judge(table: Path, **options: Any) -> int:
    """Judge every run in an event table (a Parquet file, or a folder of them) by the properties of histories.

    A run is judged at the end of each of its moments; a moment is the rows of one time. Properties
    of a protocol's state, such as the invariants of section VI, are not to be seen in a table. What depends
    on something that a row leaves unknown is open: it is neither held nor violated.

    Exit codes: 0 all held, 1 a run breaks a property, 2 the question was wrong, 3 no verdict, or some are open.
    """
    check_options(options)
    own = own_source(table, options["protocol"])
    if own is not None:
        return judge_own_table(table, own, options)
    tally, asked, code = answered(table, options)
    return tell(table, tally, asked, code, options)


def own_source(table: Path, protocol: str) -> Source | None:
    """What a table of somebody's own protocol is of; None: it is an ordinary event table.

    Raises:
        UsageError: there is no table, or not that text.
    """
    from traces.tables.table import TableError, check_arrow

    try:
        check_arrow()
        from traces.tables.own import source_of

        found = source_of(table, protocol)
    except TableError as problem:
        raise click.UsageError(str(problem)) from None
    if protocol and found is None:
        raise click.UsageError(f"--protocol is for tables of your own protocol, and {table} is none")
    return found


def judge_own_table(table: Path, source: Source, options: dict[str, Any]) -> int:
    """Judge a table of somebody's own protocol, and tell; returns the exit code.

    Raises:
        UsageError: the question was wrong.
    """
    from invariants import properties_of
    from traces.tables.table import TableError

    if options["threads"] is not None:
        raise click.UsageError(
            "a table of your own protocol is read by one thread; --master 'local[2]' takes two cores"
        )
    known = [p.name for p in properties_of(source.protocol) if p.default]
    for name in options["names"]:
        if name not in known:
            raise click.UsageError(f"there is no property {name!r}{near(name, known) or f'; there are {known}'}")
    if options["violations"] is not None:
        check_writable(options["violations"], "--violations")
    try:
        tally = own_judged(table, source, options)
    except TableError as problem:
        raise click.UsageError(str(problem)) from None
    if not tally.runs:
        raise click.UsageError(f"{table}: there is no run in this table")
    is_open = any(c["open"] for c in tally.counts.values()) and not options["allow_open"]
    judged = any(c["held"] + c["violated"] + c["premise not reached"] + c["open"] for c in tally.counts.values())
    code = VIOLATED if tally.broken else NO_VERDICT if is_open or not judged else HELD
    return tell_own(table, tally, code, options)


def own_judged(table: Path, source: Source, options: dict[str, Any]) -> OwnTally:
    """What judging a table of somebody's own protocol comes to, by the engine that was asked for.

    Raises:
        TableError: a run cannot be judged.
        UsageError, Cannot: there is no Spark, or it failed.
    """
    from checker.report.progress import StatusLine
    from traces.judging.own import judge_own, judge_own_on_spark
    from traces.spark import NoSpark, SparkFailed

    with StatusLine() as line:

        def progress(done: int, everything: int) -> None:
            if line.due():
                line.show(f"{done:,} of {everything:,} rows judged ({100 * done // max(1, everything)} %)")

        if options["engine"] != "spark" and options["master"] is None:
            return judge_own(table, source, options["names"], progress)
        try:
            return judge_own_on_spark(table, source, options["names"], options["master"], progress)
        except NoSpark as problem:
            raise click.UsageError(f"{problem}; --engine plain needs no Spark") from None
        except SparkFailed as problem:
            raise Cannot(str(problem)) from None


def tell_own(table: Path, tally: OwnTally, code: int, options: dict[str, Any]) -> int:
    """Tell what judging such a table came to; returns the exit code."""
    from traces.explain.folding import aligned, fitted

    trouble = ""
    found = [asdict(b) for b in tally.broken]
    if options["violations"] is not None:
        trouble = write_file(options["violations"], "".join(json.dumps(b) + "\n" for b in found).encode())
    words = ("held", "premise not reached", "violated", "open", "not judged")
    if options["as_json"]:
        content = {
            "table": str(table), "runs": tally.runs, "rows": tally.rows,
            "properties": [{"name": n, **{w.replace(" ", "_"): c[w] for w in words}} for n, c in tally.counts.items()],
            "violations": found, "notes": tally.notes, "exit_code": code,
        }  # fmt: skip
        code = max(code, say(json.dumps(content, indent=2), code))
    else:
        rows = [("property", *words), *((n, *(f"{c[w]:,}" for w in words)) for n, c in tally.counts.items())]
        runs = "1 run" if tally.runs == 1 else f"{tally.runs:,} runs"
        lines = [f"{runs}, {tally.rows:,} observations", "", aligned(rows, head=True).rstrip("\n")]
        for b in tally.broken[: QUOTED * len(tally.counts)]:
            when = "" if b.time is None else f" at time {b.time}"
            lines += ["", f"{b.name} is violated in run {b.run}{when}: {b.why}"]
        lines += ["", *tally.notes] if tally.notes else []
        code = max(code, say(fitted("\n".join(lines)), code))
    if trouble:
        complain(trouble)
        return NO_VERDICT
    return code


def answered(table: Path, options: dict[str, Any]) -> tuple[Tally, list[str], int]:
    """Judge a table; nothing is printed. What was found, of which properties, and the exit code.

    Raises:
        UsageError: the question was wrong.
        Cannot: Spark failed.
    """
    from traces.tables.table import TableError, check_arrow

    check_options(options)
    try:
        check_arrow("numpy")
    except TableError as problem:
        raise click.UsageError(str(problem)) from None
    from traces.judging.judge import read_units
    from traces.judging.runs import JUDGED

    check_names(options["names"], [p.name for p in JUDGED])
    if options["violations"] is not None:
        check_writable(options["violations"], "--violations")
        if options["violations"].resolve().is_relative_to(table.resolve()):
            raise click.UsageError(f"--violations {options['violations']} would write into the table that is judged")
    try:
        units = read_units(table)
        if not units:
            raise TableError(f"{table}: there is no run in this table")
        tally = judged(units, options)
    except TableError as problem:
        raise click.UsageError(str(problem)) from None
    asked = [p.name for p in JUDGED if not options["names"] or p.name in options["names"]]
    unsettled = ("undecided",) if options["allow_open"] else ("undecided", "open")
    code = VIOLATED if tally.violations else NO_VERDICT if any_is(tally, asked, unsettled) else HELD
    return tally, asked, code


def check_options(options: dict[str, Any]) -> None:
    """
    Raises:
        UsageError: an option has no such value, or does not go with another.
    """
    engine = options["engine"]
    if engine is not None and engine not in ENGINES:
        raise click.UsageError(
            f"there is no engine {engine!r}; there are {' and '.join(ENGINES)}{near(engine, ENGINES)}"
        )
    if engine == "plain" and options["master"] is not None:
        raise click.UsageError("--master is for --engine spark")
    if (engine == "spark" or options["master"] is not None) and options["threads"] is not None:
        raise click.UsageError("--threads is for --engine plain; with spark, say --master 'local[2]'")


def check_names(names: tuple[str, ...], known: list[str]) -> None:
    """
    Raises:
        UsageError: there is no such property, or none of histories.
    """
    from invariants import PROPERTIES
    from invariants.registry import HISTORY

    for name in names:
        if name not in known:
            found = [p for p in PROPERTIES if p.name == name]
            if found and found[0].of == HISTORY:
                whose = " and ".join(found[0].protocols)
                raise click.UsageError(f"{name} is asked of {whose} alone, and a table does not say what it is of")
            if found:
                raise click.UsageError(f"{name} is over the state of a protocol, which a table does not hold")
            raise click.UsageError(f"there is no property {name!r}{near(name, known) or '; see `zabcheck properties`'}")


def judged(units: list[Unit], options: dict[str, Any]) -> Tally:
    """What judging comes to, by the engine that was asked for.

    Raises:
        TableError: a run cannot be judged.
        UsageError, Cannot: there is no Spark, or it failed.
    """
    from checker.report.progress import StatusLine
    from traces.judging.judge import LARGE, judge_on_spark, judge_plainly
    from traces.spark import NoSpark, SparkFailed

    engine = options["engine"]
    rows = sum(u.rows for u in units)
    if engine is None:
        engine = "spark" if options["master"] is not None or rows > LARGE else "plain"
    with StatusLine() as line:

        def progress(done: int, everything: int, tally: Tally) -> None:
            if line.due():
                broken = f", {len(tally.violations):,} violations" if tally.violations else ""
                line.show(f"{done:,} of {everything:,} rows judged ({100 * done // max(1, everything)} %){broken}")

        if engine == "plain":
            return judge_plainly(units, options["names"], options["threads"] or os.cpu_count() or 1, progress)
        try:
            return judge_on_spark(units, options["names"], options["master"], progress)
        except NoSpark as problem:
            raise click.UsageError(f"{problem}; --engine plain needs no Spark") from None
        except SparkFailed as problem:
            raise Cannot(str(problem)) from None


# --- the answer ----------------------------------------------------------------------------------


def tell(table: Path, tally: Tally, asked: list[str], code: int, options: dict[str, Any]) -> int:
    """Tell what was found; returns the exit code."""
    trouble = ""
    if options["violations"] is not None:
        lines = "".join(json.dumps(v.as_dict()) + "\n" for v in tally.violations)
        trouble = write_file(options["violations"], lines.encode())
    code = max(code, say(as_json(table, tally, asked, code) if options["as_json"] else as_text(tally, asked), code))
    if trouble:
        complain(trouble)
        return NO_VERDICT
    return code


def any_is(tally: Tally, asked: list[str], words: tuple[str, ...]) -> bool:
    """Whether any of these is said of a property in any run."""
    return any(tally.count(name, word) for name in asked for word in words)


def gaps_of(tally: Tally, *names: str) -> list[tuple[str, Gap, Where]]:
    """The gaps that leave properties open, in the order of these names; those of `""` are to be said of rows."""
    from traces.judging.gaps import GAPS

    return [(n, gap, tally.gaps[n, gap.bit]) for n in names for gap in GAPS if (n, gap.bit) in tally.gaps]


def as_json(table: Path, tally: Tally, asked: list[str], code: int) -> str:
    from traces.judging.tally import COUNTS

    return json.dumps(
        {
            "table": str(table),
            "runs": tally.runs,
            "rows": tally.rows,
            "properties": [
                {"name": n} | {what.replace(" ", "_"): tally.count(n, what) for what in COUNTS} for n in asked
            ],
            "violations": [v.as_dict() for v in tally.violations],
            "open": [
                {"property": n, "column": gap.column, "run": where.run, "row": where.row if where.row >= 0 else None}
                | {"runs": where.runs, "why": gap.why}
                for n, gap, where in gaps_of(tally, *asked)
            ],
            "notes": [*said_of_rows(tally), *tally.notes],
            "exit_code": code,
        },
        indent=2,
    )  # fmt: skip


def said_of_rows(tally: Tally) -> list[str]:
    """What is to be said of rows whatever the verdicts are."""
    from traces.judging.gaps import sentence

    return [f"{sentence(gap, where)}." for _, gap, where in gaps_of(tally, "")]


def as_text(tally: Tally, asked: list[str]) -> str:
    """The counts as a table, then the first violations of each property."""
    from traces.explain.folding import aligned, fitted
    from traces.judging.gaps import sentence
    from traces.judging.tally import COUNTS

    used = [what for what in COUNTS if what in COUNTS[:3] or any(tally.count(n, what) for n in asked)]
    rows = [("property", *used), *((n, *(f"{tally.count(n, what):,}" for what in used)) for n in asked)]
    runs = "1 run" if tally.runs == 1 else f"{tally.runs:,} runs"
    lines = [f"{runs}, {tally.rows:,} events", "", aligned(rows, head=True).rstrip("\n")]
    for name in asked:
        found = [v for v in tally.violations if v.property == name]
        for v in found[:QUOTED]:
            when = "" if v.time is None else f" at time {v.time}"
            lines += ["", f"{name} is violated in run {v.run}{when}: {v.why}"]
            for e in v.events:
                place = f"position {e.position}" if e.position is not None else f"row {e.row}"
                lines.append(f"  {e.who}, {place}: {' '.join(filter(None, (e.kind, e.txn)))}")
            if v.command:
                lines.append(f"  {v.command}")
        if len(found) > QUOTED:
            lines += ["", f"{name}: {len(found) - QUOTED:,} more; --violations FILE writes them all"]
    for name in asked:
        gaps = gaps_of(tally, name)
        lines += ["", *(f"{name} is open: {sentence(gap, where)}." for _, gap, where in gaps)] if gaps else []
    notes = [*said_of_rows(tally), *tally.notes]
    lines += ["", *notes] if notes else []
    return fitted("\n".join(lines))
