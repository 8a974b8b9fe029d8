"""`zabcheck audit`: did a ZooKeeper ensemble keep ZAB's promises? Read from its servers' directories."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.audit_logs import judged_logs
from checker.commands.common import (
    HELD,
    INPUT,
    NO_VERDICT,
    PATH,
    VIOLATED,
    Cannot,
    Subcommand,
    check_writable,
    complain,
    one_line,
    say,
    seconds,
    write_file,
)

if TYPE_CHECKING:
    from traces.zookeeper.audit import Audit
    from traces.zookeeper.server import Directory

__all__ = ["audit"]

EXAMPLES = """\b
Examples:
  zabcheck audit server1 server2 server3
  zabcheck audit server1 server2 server3 --config zoo.cfg --html audit.html
  zabcheck audit /data/zk1,/datalog/zk1 /data/zk2,/datalog/zk2
  zabcheck audit server1 server2 server3 --watch 60 --json
  zabcheck audit --diff server1 server2
  zabcheck audit --logs zk1.log zk2.log zk3.log
"""
LARGEST = 1 << 20  # bytes of a configuration
SERVERS = 64
ANEW = 100  # looks, of which one reads everything again


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("servers", nargs=-1, metavar="SERVER...")
@click.option("--config", type=INPUT, metavar="ZOO.CFG", help="Who votes, and how: for quorums (else majorities).")
@click.option("--no-digests", is_flag=True, help="Do not replay the logs: faster, and cannot say who is wrong.")
@click.option("--diff", is_flag=True, help="Of two servers: the first transaction in which they part.")
@click.option("--logs", is_flag=True, help="What is named are text logs (zookeeper.log) of the servers.")
@click.option(
    "--watch", type=float, callback=seconds, metavar="SECONDS", help="Again and again; only what is new is read."
)
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True, help="Where.")
@click.option("--master", metavar="URL", help="With --engine spark: where it runs (local[*]).")
@click.option("--show-data", is_flag=True, help="Show what nodes hold, which is secret otherwise.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON; with --watch a line each time.")
@click.option("--html", type=PATH, metavar="FILE", help="Also write a page with a timeline of each server.")
@click.option("--svg", type=PATH, metavar="FILE", help="With --logs: also draw what they tell.")
@click.option("--png", type=PATH, metavar="FILE", help="With --logs: the same, rasterised.")
@click.option("--sarif", type=PATH, metavar="FILE", help="Also write the findings as SARIF.")
@click.option("--junit", type=PATH, metavar="FILE", help="Also write them as JUnit XML.")
def audit(servers: tuple[str, ...], **options: Any) -> int:
    """Audit the data directories of a ZooKeeper ensemble: did it keep ZAB's promises?

    A SERVER is a data directory (with version-2 in it or a little below), or data and log directory as
    DATA,LOGS. Nothing is written to them, and servers may be running.

    Exit codes: 0 OK, or warnings alone; 1 a violation; 2 the question was wrong; 3 something could not be read.
    """
    if not servers:
        raise click.UsageError("name the directories of the servers")
    if len(servers) > SERVERS:
        raise click.UsageError(f"at most {SERVERS} servers, not {len(servers)}")
    for option in ("html", "svg", "png", "sarif", "junit"):
        if options[option] is not None:
            check_writable(options[option], f"--{option}", regular=False)
    if options["master"] is not None and options["engine"] != "spark":
        raise click.UsageError("--master is for --engine spark")
    if options["engine"] == "spark" and (options["watch"] is not None or options["diff"] or options["logs"]):
        raise click.UsageError("--engine spark does not go with --watch, --diff or --logs")
    if (options["svg"] or options["png"]) and not options["logs"]:
        raise click.UsageError("--svg and --png draw text logs: they go with --logs (of directories there is --html)")
    if options["logs"]:
        return judged_logs([Path(name) for name in servers], options)
    directories = found(servers)
    if options["diff"]:
        return difference(directories, options)
    config = config_text(options["config"])
    if options["watch"] is not None:
        return watched(servers, config, options)
    return tell(audited(directories, config, options), options)


def found(servers: tuple[str, ...]) -> list[Directory]:
    """The directories of each server.

    Raises:
        UsageError: one is none, or is named twice.
    """
    from traces.zookeeper.server import NotOne, find_directory

    out: list[Directory] = []
    names = names_of([Path(word.split(",")[0] if not Path(word).exists() else word) for word in servers])
    for word, name in zip(servers, names, strict=True):
        paths = [Path(word)] if Path(word).exists() or "," not in word else [Path(p) for p in word.split(",") if p]
        try:
            one = find_directory(paths, name)
        except NotOne as problem:
            raise click.UsageError(str(problem)) from None
        mine = {str(f.resolve()) for f in one.folders}
        for other in out:
            if mine & {str(f.resolve()) for f in other.folders}:
                raise click.UsageError(f"{word} and {other.name} are one directory")
        out.append(one)
    return out


def names_of(paths: list[Path]) -> list[str]:
    """What servers are called: the last part of their paths that tells them apart."""
    parts = [[p for p in path.absolute().parts if p not in ("/", "version-2", ".")] or ["/"] for path in paths]
    for depth in range(1, 8):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return [one_line(n) for n in names]
    return [f"{one_line(p[-1])}#{k}" for k, p in enumerate(parts, 1)]


def config_text(path: Path | None) -> str | None:
    """
    Raises:
        UsageError: the configuration cannot be read, or is none.
    """
    if path is None:
        return None
    from traces.zookeeper.ensemble import ConfigError, parse
    from zabspec.files import read_bytes

    try:
        text = read_bytes(path, LARGEST).decode()
        parse(text)
    except OSError as problem:
        raise click.UsageError(f"{path}: {problem.strerror}") from None
    except (UnicodeDecodeError, ValueError):
        raise click.UsageError(f"{path} is not text") from None
    except ConfigError as problem:
        raise click.UsageError(f"{path}: {problem}") from None
    return text


def audited(
    directories: list[Directory], config: str | None, options: dict[str, Any], before: Audit | None = None
) -> Audit:
    from traces.zookeeper.audit import audit as audit_ensemble

    check_numbers(directories, config)
    show, digests = options["show_data"], not options["no_digests"]
    if options["engine"] != "spark":
        return audit_ensemble(directories, config, show, digests, before, keep=options["watch"] is not None)
    from traces.spark import NoSpark, SparkFailed
    from traces.zookeeper.spark import audit_on_spark

    try:
        return audit_on_spark(directories, config, show, digests, options["master"])
    except NoSpark as problem:
        raise click.UsageError(str(problem)) from None
    except SparkFailed as problem:
        raise Cannot(str(problem)) from None


def check_numbers(directories: list[Directory], config: str | None) -> None:
    """
    Raises:
        UsageError: two servers have one number, or the configuration has no such server.
    """
    from traces.zookeeper.audit import number_of
    from traces.zookeeper.ensemble import parse

    if config is None:
        return
    known = parse(config)
    numbers: dict[int, str] = {}
    for place, d in enumerate(directories, 1):
        number = number_of(d, place)
        if number in numbers:
            raise click.UsageError(f"{numbers[number]} and {d.name} both have number {number} (myid)")
        if number not in (*known.participants, *known.observers):
            raise click.UsageError(f"{d.name} has number {number}, which the configuration does not have")
        numbers[number] = d.name


def tell(found: Audit, options: dict[str, Any]) -> int:
    """Say what was found, and write what was asked for; returns the exit code."""
    from checker.report import audit as report

    code = found.code
    trouble = write_all(found, options)
    text = report.as_json(found) if options["as_json"] else report.as_text(found)
    code = say(text, code)
    for problem in trouble:
        complain(problem)
    return NO_VERDICT if trouble else code


def write_all(found: Audit, options: dict[str, Any]) -> list[str]:
    from checker.report import audit as report
    from checker.report.audit_page import as_html

    out = []
    for option, write in (("html", as_html), ("sarif", report.as_sarif), ("junit", report.as_junit)):
        if options[option] is not None:
            out.append(write_file(options[option], write(found)))
    return [problem for problem in out if problem]


def watched(servers: tuple[str, ...], config: str | None, options: dict[str, Any]) -> int:
    """Audit again and again until interrupted; ends with what was found last, at once with a violation.

    A JSON line, or a line of text, each time. What was read is not read again but each hundredth time: damage that
    comes to old bytes is found then.
    """
    from checker.report import audit as report

    before: Audit | None = None
    looks = 0
    while True:
        looks += 1
        try:
            now = audited(found(servers), config, options, None if looks % ANEW == 0 else before)
        except click.UsageError:
            if before is None:
                raise
            complain("a directory is gone, or is being replaced: it is looked for again")
            time.sleep(options["watch"])
            continue
        trouble = write_all(now, options)
        for problem in trouble:
            complain(problem)
        code = say(report.as_json(now, line=True) if options["as_json"] else news(now, before), now.code)
        if trouble or code == NO_VERDICT:
            return NO_VERDICT
        if code == VIOLATED:
            return VIOLATED
        before = now
        time.sleep(options["watch"])


def news(now: Audit, before: Audit | None) -> str:
    """A line, and what was not there before."""
    from checker.report import audit as report
    from traces.zookeeper.findings import NOTE

    known = set() if before is None else {(f.code, f.server, f.file, f.zxid) for f in before.findings}
    fresh = [f for f in now.findings if (f.code, f.server, f.file, f.zxid) not in known]
    lines = [f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {report.sentence(now)}"]
    for f in fresh:
        lines += report.finding_text(f) if f.severity != NOTE else [f"  {f.code} {f.place}: {f.sentence}"]
    return "\n".join(lines)


def difference(directories: list[Directory], options: dict[str, Any]) -> int:
    """Where two servers part.

    Raises:
        UsageError: there are not two.
    """
    if len(directories) != 2:
        raise click.UsageError("--diff takes two servers")
    from traces.zookeeper.difference import first_difference

    found = first_difference(directories, options["show_data"])
    code = {"parted": VIOLATED, "unread": NO_VERDICT}.get(found.state, HELD)
    return say(json.dumps(found.as_json(), indent=1) if options["as_json"] else found.told(), code)
