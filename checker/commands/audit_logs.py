"""`zabcheck audit --logs`: text logs of servers as a history of phases, judged by the properties of histories."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import HELD, NO_VERDICT, VIOLATED, Answer, one_line
from checker.commands.publishing import publish
from checker.report.result import StatedResult

if TYPE_CHECKING:
    from traces.zookeeper.text_logs import Broken, LogEvent, TextHistory

__all__ = ["DRAWN", "judged_logs"]

SHOWN = 200  # phases in the text
DRAWN = ("html", "svg", "png")
TXN = re.compile(r"<(\d+),(\d+)>")


def judged_logs(paths: list[Path], outputs: Mapping[str, Path | None], as_json: bool) -> Answer:
    """Read and judge.

    Args:
        outputs: by their kind the files that are drawn.

    Raises:
        UsageError: a file cannot be read, or no line of any says anything.
    """
    from traces.zookeeper.text_logs import read_text_logs
    from zabspec.files import Unreadable

    try:
        history = read_text_logs(paths)
    except Unreadable as problem:
        raise click.UsageError(str(problem)) from None
    if not history.phases and history.rows is None:
        raise click.UsageError(
            "no line of these files is one of ZooKeeper's that tells a phase, a proposal or a commit"
        )
    judged, breaks = properties(history)
    broken = [*history.broken, *breaks]
    found = [
        {"property": b.rule, "step": b.step, "why": b.sentence, "lines": [e.place for e in b.lines]} for b in broken
    ]
    code = VIOLATED if found else HELD if judged or history.rows is None else NO_VERDICT
    stated = StatedResult("", code, content_of(history, judged, found, code), [as_text(history, judged, found)])
    return publish(stated, as_json, more=pictures(history, broken, outputs))


def pictures(
    history: TextHistory, broken: list[Broken], outputs: Mapping[str, Path | None]
) -> list[tuple[Path, bytes]]:
    """Return the pictures that were asked for.

    Raises:
        UsageError: what makes a PNG is not installed.
    """
    if not any(outputs.values()):
        return []
    from importlib.metadata import version

    from traces.pictures.png import NoRasterizer, rasterised
    from traces.pictures.svg import document
    from traces.zookeeper.log_picture import page_of_logs, picture_of_logs

    drawn = picture_of_logs(history, broken, version("zabcheck"))
    out = []
    for kind, path in outputs.items():
        if path is None:
            continue
        try:
            data = page_of_logs(drawn).encode() if kind == "html" else document(drawn.picture).encode()
            out.append((path, rasterised(data.decode()) if kind == "png" else data))
        except NoRasterizer as missing:
            raise click.UsageError(str(missing)) from None
    return out


def properties(history: TextHistory) -> tuple[dict[str, str], list[Broken]]:
    """The properties of histories over proposals and commits, each with its verdict; and what breaks them.

    Raises:
        UsageError: what judging needs is not installed.
    """
    if history.rows is None:
        return {}, []
    from traces.tables.table import TableError, check_arrow

    try:
        check_arrow("numpy")
    except TableError as problem:
        raise click.UsageError(str(problem)) from None
    from traces.judging.runs import JUDGED
    from traces.judging.single_run import judge_rows
    from traces.judging.totals import COUNTS
    from traces.zookeeper.decode import zxid_text
    from traces.zookeeper.text_logs import OBSERVES, Broken

    tally = judge_rows(history.rows, OBSERVES)
    broken = []
    for v in tally.violations:
        lines = [
            history.lines.get((e.process, e.position))
            for e in v.events
            if e.process is not None and e.position is not None
        ]
        why = v.why
        for k, server in enumerate(sorted(history.servers)):
            why = why.replace(f"p{k} ", f"server {server} ")
        said = [e for e in lines if e is not None]
        why = TXN.sub(lambda t: zxid_text(int(t[1]) << 32 | int(t[2])), why)
        broken.append(Broken(v.property, step_of(said), why, said))
    out = {}
    for p, counts in zip(JUDGED, tally.counts, strict=True):
        if not p.default:
            continue
        out[p.name] = next((word for word, count in zip(COUNTS, counts, strict=True) if count), "not judged")
    return out, broken


def step_of(lines: list[LogEvent]) -> str:
    """The step that lines tell of, as the paper calls it: a commit, if there is one among them."""
    kinds = {e.kind for e in lines}
    return "f.3.3" if "commit" in kinds else "l.3.1" if "propose" in kinds else ""


def content_of(history: TextHistory, judged: dict[str, str], found: list[dict[str, Any]], code: int) -> dict[str, Any]:
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
