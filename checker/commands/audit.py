"""`zabcheck audit`: check from its servers' directories whether a ZooKeeper ensemble kept ZAB's promises."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.audit_logs import DRAWN, judged_logs
from checker.commands.common import (
    HELD,
    INPUT,
    PATH,
    Answer,
    Subcommand,
    check_writable,
    complain,
    seconds,
)
from checker.commands.publishing import files_of, format_options, publish
from checker.errors import RequestError
from checker.requests.audit import AuditRequest, answer
from checker.requests.audit_logs import AuditLogsRequest
from checker.requests.quorum_system import OF_SERVERS

if TYPE_CHECKING:
    from checker.report.audit import AuditReport
    from traces.zookeeper.audit import Audit

EXAMPLES = """\b
Examples:
  zabcheck audit server1 server2 server3
  zabcheck audit server1 server2 server3 --config zoo.cfg --release 3.9.5 --html audit.html
  zabcheck audit server1 server2 server3 --config zoo.cfg --release 3.9.5 --forecast
  zabcheck audit /data/zk1,/datalog/zk1 /data/zk2,/datalog/zk2
  zabcheck audit s3://backups/zk1 s3://backups/zk2 s3://backups/zk3
  zabcheck audit server1 server2 server3 --watch 60 --json
  zabcheck audit --logs zk1.log zk2.log zk3.log
"""
ANEW = 100  # rounds, one of which reads everything again


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("servers", nargs=-1, metavar="SERVER...")
@click.option(
    "--config",
    type=INPUT,
    metavar="ZOO.CFG",
    help="The zoo.cfg of the ensemble, with the voting servers and their quorums (default: majorities).",
)
@shared.named("--release", "NUMBER", "Release of the servers, to determine which of them start (default: every "
"release that can have written the files).",
              completing.zookeeper_releases)  # fmt: skip
@click.option(
    "--server-option",
    "server_options",
    multiple=True,
    metavar="NAME=VALUE",
    help=OF_SERVERS,
)
@click.option(
    "--forecast", is_flag=True, help="Also forecast what can happen when they are started, by the release's model."
)
@click.option(
    "--no-digests", is_flag=True, help="Do not replay the logs: faster, but cannot determine which server is wrong."
)
@click.option("--logs", is_flag=True, help="The arguments are text logs (zookeeper.log) of the servers.")
@click.option(
    "--watch",
    type=float,
    callback=seconds,
    metavar="SECONDS",
    help="Repeat the audit after this time; only new records are read.",
)
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True, help="Where.")
@click.option("--master", metavar="URL", help="With --engine spark, or for an address: the Spark master (local[*]).")
@click.option("--show-data", is_flag=True, help="Show the data of nodes, which reports otherwise leave out.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON; with --watch one line for each audit.")
@format_options("audit")
@click.option("--svg", type=PATH, metavar="FILE", help="With --logs: also draw the events of the logs.")
@click.option("--png", type=PATH, metavar="FILE", help="With --logs: the same picture as PNG.")
def audit(servers: tuple[str, ...], **flags: Any) -> Answer:
    """Audit the data directories of a ZooKeeper ensemble: did it keep ZAB's promises?

    A SERVER is a data directory (with version-2 in it or a little below), or data and log directory as
    DATA,LOGS; a path, or an address (s3://, viewfs://, ...), which is copied first. Nothing is written to them, and
    servers may be running.

    Exit codes: 0 OK, or warnings alone; 1 a violation, or data in danger; 2 the request is wrong; 3 something could
    not be read.
    """
    request = AuditRequest(
        servers,
        str(flags["config"] or ""),
        not flags["no_digests"],
        flags["engine"],
        flags["master"],
        flags["show_data"],
        flags["release"] or "",
        flags["forecast"],
        flags["server_options"],
    )
    files, as_json = files_of("audit", flags), flags["as_json"]
    for name in ("svg", "png"):
        if flags[name] is not None:
            check_writable(flags[name], f"--{name}")
    watch, logs = flags["watch"], flags["logs"]
    if request.engine == "spark" and (watch is not None or logs):
        raise click.UsageError("--engine spark does not go with --watch or --logs")
    if watch is not None and any("://" in server for server in servers):
        raise click.UsageError("--watch reads directories of this machine or of a mount, not at an address")
    if request.forecast and watch is not None:
        raise click.UsageError("--forecast is for stopped servers: it does not go with --watch")
    if (flags["svg"] or flags["png"]) and not logs:
        raise click.UsageError("--svg and --png draw text logs: they go with --logs (of directories there is --html)")
    if logs:
        for option in (
            "config",
            "release",
            "forecast",
            "watch",
            *(name for name in files if name not in DRAWN),
            "no_digests",
            "show_data",
            "server_options",
        ):
            if flags[option]:
                name = "server-option" if option == "server_options" else option.replace("_", "-")
                raise click.UsageError(f"--{name} does not go with --logs")
        return judged_logs(AuditLogsRequest(servers), {name: flags[name] for name in DRAWN}, as_json)
    if watch is not None:
        return watched(request, watch, files, as_json)
    return publish(report_of(request, answer(request)), as_json, files)


def report_of(request: AuditRequest, found: Audit) -> AuditReport:
    """Return the report of an audit."""
    from checker.report.audit import AuditReport

    return AuditReport(found, request.as_json())


def watched(request: AuditRequest, every: float, files: Mapping[str, Path], as_json: bool) -> Answer:
    """Audit every `every` seconds until interrupted, or until there is a violation or no verdict.

    Each round writes a JSON line, or a line of text, as an answer of its own. What was read before is read again only
    in every hundredth round, which then detects damage to old bytes.
    """
    before: Audit | None = None
    looks = 0

    def look() -> Answer:
        nonlocal before, looks
        while True:
            if looks:
                time.sleep(every)
            looks += 1
            try:
                now = answer(request, None if looks % ANEW == 0 else before, keep=True)
                break
            except RequestError:
                if before is None:
                    raise
                complain("a directory is missing, or is being replaced: retrying")
        seen = publish(report_of(request, now), as_json, files)
        line = replace(seen, indent=None) if as_json else replace(seen, texts=[news(now, before)])
        before = now
        return replace(line, then=look) if now.code == HELD else line

    return look()


def news(now: Audit, before: Audit | None) -> str:
    """Return the lines of a round: a headline if the verdict changed, a line with the time, and the new findings."""
    from checker.report import audit as report
    from traces.zookeeper.findings import NOTE

    known = set() if before is None else {(f.code, f.server, f.file, f.zxid) for f in before.findings}
    fresh = [f for f in now.findings if (f.code, f.server, f.file, f.zxid) not in known]
    lines = [report.headline(now)] if before is None or before.verdict != now.verdict else []
    lines.append(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {report.sentence(now)}")
    for f in fresh:
        lines += report.finding_text(f) if f.severity != NOTE else [f"  {f.code} {f.place}: {f.sentence}"]
    return "\n".join(lines)
