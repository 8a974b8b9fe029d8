"""The report of an audit."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from checker.report import result
from checker.report.result import ERROR, FAILURE, SKIPPED, Part, Place, Result, Rule, Verdict, installed_version
from checker.report.sources import top_of
from traces.explain.folding import WIDTH
from traces.zookeeper.audit import Audit
from traces.zookeeper.codes import CODES, TABLE
from traces.zookeeper.decode import zxid_text
from traces.zookeeper.findings import DANGER, GRAVE, NOTE, VIOLATION, WARN, Finding
from traces.zookeeper.server import Server

__all__ = ["AuditReport", "finding_text", "sentence"]

FORMAT = 1
LEVELS = {VIOLATION: "error", DANGER: "error", WARN: "warning", NOTE: "note"}


def sentence(audit: Audit) -> str:
    """The verdict in a line."""
    servers = audit.servers
    records = sum(s.records for s in servers)
    of = f"{len(servers)} server{'s' * (len(servers) != 1)}, {records:,} records"
    checked = sum(r.checked for r in audit.replays.values())
    of += f", {checked:,} digests replayed" if checked else ", no digests replayed"
    words = ((VIOLATION, "violation"), (DANGER, "danger"), (WARN, "warning"), (NOTE, "note"))
    counts = [(len(audit.told(severity)), word) for severity, word in words]
    said = [f"{n} {w}{'s' * (n != 1)}" for n, w in counts if n]
    return f"{audit.verdict}: {of}; {', '.join(said) or 'nothing odd'}"


def wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False) or [
        indent
    ]


@dataclass(frozen=True)
class AuditReport(Result):
    """What an audit came to.

    Attributes:
        audit: it.
    """

    audit: Audit
    request: Mapping[str, Any] | None = None

    kind = "audit"
    suites = "zabcheck audit"

    @property
    def sentence(self) -> str:
        return sentence(self.audit)

    @property
    def exit_code(self) -> int:
        return self.audit.code

    @property
    def title(self) -> str:
        return self.suites

    def parts(self) -> Sequence[Part]:
        """The verdict, the findings with all that there is to say, notes in a line each, and what cannot be
        concluded."""
        audit = self.audit
        parts = ["\n".join([self.sentence, *(f"  {s.name}: {server_line(s)}" for s in audit.servers)])]
        parts += ["\n".join(finding_text(f)) for f in audit.told(*GRAVE)]
        if notes := audit.told(NOTE):
            lines = ["Notes: odd, and legitimate"]
            for f in notes:
                lines += wrapped(f"{f.code} {f'{f.place}: ' if f.place else ''}{f.sentence}", "  ")
            parts.append("\n".join(lines))
        lines = [f"Quorums: {audit.quorums}.", "Cannot be concluded:"]
        for text in audit.open:
            lines += wrapped(f"- {text}", "  ")
        return [*parts, "\n".join(lines)]

    def said(self) -> Iterator[Verdict]:
        """For each server each code that can be more than a note; what was not concluded is skipped."""
        for name in [*(s.name for s in self.audit.servers), "ensemble"]:
            for row in TABLE:
                found = [f for f in self.audit.findings if f.code == row.code and (f.server or "ensemble") == name]
                if not found and not row.clients.rstrip(".") not in ("", "None"):
                    continue
                grave = [f for f in found if f.severity != NOTE]
                if not grave:
                    yield Verdict(row.code, "OK", group=name)
                    continue
                ends = FAILURE if grave[0].severity in (VIOLATION, DANGER) else SKIPPED
                ends = ERROR if row.code == "UNREADABLE" else ends
                message = f"{grave[0].place}: {grave[0].sentence}"
                text = "\n".join("\n".join(finding_text(f)) for f in grave)
                yield Verdict(
                    row.code, grave[0].severity, None, message, text=text, ends=ends, message=message, group=name
                )

    @property
    def rules(self) -> Sequence[Rule]:
        return [Rule(c.code, f"{c.what}.", " ".join(value for _, value in c.advice())) for c in TABLE]

    @cached_property
    def findings(self) -> Sequence[result.Finding]:
        out = []
        for f in self.audit.findings:
            named = f.server or ", ".join(f.servers)
            where = Place(path_of(self.audit, f), 0, f.offset if f.offset >= 0 else None, 0, named)
            same = f"{f.code} {f.server} {f.file} {f.zxid}"
            level, further = LEVELS[f.severity], finding_json(f)
            out.append(result.Finding(f.code, level, f"{f.place}: {f.sentence}", [where], same=same, further=further))
        return out

    @property
    def unanswered(self) -> Sequence[str]:
        return [f"{f.place}: {f.sentence}" for f in self.audit.findings if f.code == "UNREADABLE"]

    @property
    def root(self) -> Path:
        paths = [path for f in self.audit.findings if (path := path_of(self.audit, f)) is not None]
        return top_of(*paths) if paths else Path()

    def page(self) -> str:
        from checker.report.audit_page import as_html

        return as_html(self.audit, self.sentence)

    def as_json(self) -> dict[str, Any]:
        audit = self.audit
        return {
            "format": FORMAT,
            "zabcheck": installed_version(),
            "verdict": audit.verdict,
            "sentence": self.sentence,
            "exit_code": audit.code,
            "request": self.request,
            "quorums": audit.quorums,
            "servers": [server_json(s, audit) for s in audit.servers],
            "findings": [finding_json(f) for f in audit.told(*GRAVE)],
            "notes": [finding_json(f) for f in audit.told(NOTE)],
            "cannot_be_concluded": audit.open,
        }


def server_line(s: Server) -> str:
    if not s.records:
        return "no transaction in its logs"
    first = s.runs[0].lo if s.runs else 0
    return f"{zxid_text(first)} to {zxid_text(s.top)}, {len(s.logs)} logs, {len(s.snapshots)} snapshots"


def finding_text(f: Finding) -> list[str]:
    row = CODES[f.code]
    lines = [f"{f.severity} {f.code}{f' {f.place}' if f.place else ''}", *wrapped(f.sentence, "  ")]
    lines += wrapped(f"{row.what}.", "  ")
    for name, value in f.evidence.items():
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines += wrapped(f"{name}: {said}", "    ")
    for name, value in row.advice(f.advice):
        lines += wrapped(f"{name}: {value}", "  ")
    return lines


# --- machines ------------------------------------------------------------------------------------------


def finding_json(f: Finding) -> dict[str, Any]:
    row = CODES[f.code]
    return {
        "code": f.code,
        "severity": f.severity,
        "server": f.server or None,
        "servers": f.servers or ([f.server] if f.server else []),
        "file": f.file or None,
        "offset": f.offset if f.offset >= 0 else None,
        "zxid": zxid_text(f.zxid) if f.zxid >= 0 else None,
        "zxid_hex": f"{f.zxid:#x}" if f.zxid >= 0 else None,
        "last_zxid": zxid_text(f.last) if f.last >= 0 and f.last != f.zxid else None,
        "sentence": f.sentence,
        "what": row.what,
        "concerns": row.concerns or None,
        "clients": row.clients or None,
        "known_bugs": row.bugs or None,
        "recommendation": f.advice or row.do or None,
        "evidence": f.evidence,
    }


def server_json(s: Server, audit: Audit) -> dict[str, Any]:
    replay = audit.replays.get(s.name)
    return {
        "name": s.name,
        "number": s.directory.number,
        "folders": [str(p) for p in s.directory.folders],
        "first": zxid_text(s.runs[0].lo) if s.runs else None,
        "last": zxid_text(s.top) if s.top else None,
        "records": s.records,
        "logs": len(s.logs),
        "snapshots": len(s.snapshots),
        "digests_replayed": replay.checked if replay else 0,
    }


def path_of(audit: Audit, f: Finding) -> Path | None:
    """Where a finding's file is."""
    for s in audit.servers:
        if not f.file or (f.server not in (s.name, "") and s.name not in f.servers):
            continue
        for path in [*(x.path for x in s.logs), *(x.path for x in s.snapshots)]:
            if path.name == f.file:
                return path
        return s.directory.folders[0] / f.file
    return None
