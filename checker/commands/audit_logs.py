"""`zabcheck audit --logs`: text logs of servers as a history of phases, judged by the properties of histories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import HELD, NO_VERDICT, VIOLATED, one_line, say

if TYPE_CHECKING:
    from traces.zookeeper.text_logs import TextHistory

__all__ = ["judged_logs"]

SHOWN = 200  # phases in the text


def judged_logs(paths: list[Path], options: dict[str, Any]) -> int:
    """Read, judge and tell; returns the exit code.

    Raises:
        UsageError: a file cannot be read, or no line of any says anything.
    """
    from traces.zookeeper.files import Unreadable
    from traces.zookeeper.text_logs import read_text_logs

    for option in ("config", "diff", "watch", "html", "sarif", "junit", "no_digests"):
        if options[option]:
            raise click.UsageError(f"--{option.replace('_', '-')} does not go with --logs")
    try:
        history = read_text_logs(paths)
    except Unreadable as problem:
        raise click.UsageError(str(problem)) from None
    if not history.phases and history.rows is None:
        raise click.UsageError(
            "no line of these files is one of ZooKeeper's that tells a phase, a proposal or a commit"
        )
    found = [
        {"property": b.rule, "step": b.step, "why": b.sentence, "lines": [e.place for e in b.lines]}
        for b in history.broken
    ]
    judged = properties(history, found)
    code = VIOLATED if found else HELD if judged or history.rows is None else NO_VERDICT
    if options["as_json"]:
        return say(json.dumps(as_json(history, judged, found, code), indent=1), code)
    return say(as_text(history, judged, found), code)


def properties(history: TextHistory, found: list[dict[str, Any]]) -> dict[str, str]:
    """The properties of histories over proposals and commits, each with its verdict; violations are put to the others.

    Raises:
        UsageError: what judging needs is not installed.
    """
    if history.rows is None:
        return {}
    from traces.tables.table import TableError, check_arrow

    try:
        check_arrow("numpy")
    except TableError as problem:
        raise click.UsageError(str(problem)) from None
    from traces.judging.runs import JUDGED
    from traces.judging.single_run import judge_rows
    from traces.judging.tally import COUNTS
    from traces.zookeeper.text_logs import OBSERVES

    tally = judge_rows(history.rows, OBSERVES)
    for v in tally.violations:
        lines = [
            history.lines.get((e.process, e.position))
            for e in v.events
            if e.process is not None and e.position is not None
        ]
        names = sorted(history.servers)
        why = v.why
        for k, server in enumerate(names):
            why = why.replace(f"p{k} ", f"server {server} ")
        found.append(
            {"property": v.property, "step": "", "why": why, "lines": [e.place for e in lines if e is not None]}
        )
    out = {}
    for p, counts in zip(JUDGED, tally.counts, strict=True):
        out[p.name] = next((word for word, count in zip(COUNTS, counts, strict=True) if count), "not judged")
    return out


def as_json(history: TextHistory, judged: dict[str, str], found: list[dict[str, Any]], code: int) -> dict[str, Any]:
    return {
        "format": 1,
        "servers": {str(n): files for n, files in history.servers.items()},
        "phases": [
            {"time": e.time, "server": e.server, "line": e.place, "kind": e.kind, "value": e.value, "detail": e.detail}
            for e in history.phases
        ],
        "proposals": history.proposals,
        "commits": history.commits,
        "silent_steps": history.silent,
        "properties": judged,
        "violations": found,
        "exit_code": code,
    }


def as_text(history: TextHistory, judged: dict[str, str], found: list[dict[str, Any]]) -> str:
    from traces.zookeeper.text_logs import phase_text

    verdict = "VIOLATION" if found else "OK"
    lines = [
        f"{verdict}: {len(history.servers)} servers, {len(history.phases):,} phases, {history.proposals:,} proposals, "
        f"{history.commits:,} commits, {history.silent:,} silent steps"
    ]
    for f in found:
        step = f" ({f['step']})" if f["step"] else ""
        lines += ["", f"{f['property']}{step}: {one_line(f['why'])}", *(f"  {place}" for place in f["lines"])]
    if judged:
        words = sorted(set(judged.values()))
        lines += ["", *(f"{w}: {', '.join(n for n, v in judged.items() if v == w)}" for w in words)]
    else:
        lines += ["", "The logs hold no proposals and commits (they are at INFO): phases alone were judged."]
    lines += ["", "Phases:"]
    lines += [f"  {e.time[:23]} {phase_text(e)}  {e.place}" for e in history.phases[:SHOWN]]
    if len(history.phases) > SHOWN:
        lines.append(f"  and {len(history.phases) - SHOWN:,} more (--json has all)")
    return "\n".join(lines)
