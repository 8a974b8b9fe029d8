"""The report of an audit: for a person, for a machine (JSON, SARIF, JUnit)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from checker.report import sarif
from checker.report.junit import clean
from checker.report.report import installed_version
from checker.report.sources import top_of
from traces.zookeeper.audit import Audit
from traces.zookeeper.codes import CODES, TABLE
from traces.zookeeper.decode import zxid_text
from traces.zookeeper.findings import NOTE, VIOLATION, WARN, Finding
from traces.zookeeper.server import Server

__all__ = ["as_json", "as_junit", "as_sarif", "as_text", "finding_json", "sentence"]

FORMAT = 1
WIDTH = 100
LEVELS = {VIOLATION: "error", WARN: "warning", NOTE: "note"}


def sentence(audit: Audit) -> str:
    """The verdict in a line."""
    servers = audit.servers
    records = sum(s.records for s in servers)
    of = f"{len(servers)} server{'s' * (len(servers) != 1)}, {records:,} records"
    checked = sum(r.checked for r in audit.replays.values())
    of += f", {checked:,} digests replayed" if checked else ", no digests replayed"
    bad, warn = len(audit.told(VIOLATION)), len(audit.told(WARN))
    notes = len(audit.told(NOTE))
    said = [f"{n} {w}{'s' * (n != 1)}" for n, w in ((bad, "violation"), (warn, "warning"), (notes, "note")) if n]
    return f"{audit.verdict}: {of}; {', '.join(said) or 'nothing odd'}"


def wrapped(text: str, indent: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False) or [
        indent
    ]


def as_text(audit: Audit) -> str:
    """The verdict, the findings with all that there is to say, notes in a line each, and what cannot be concluded."""
    lines = [sentence(audit)]
    for s in audit.servers:
        lines.append(f"  {s.name}: {server_line(s)}")
    for f in audit.told(VIOLATION, WARN):
        lines += ["", *finding_text(f)]
    notes = audit.told(NOTE)
    if notes:
        lines += ["", "Notes: odd, and legitimate"]
        for f in notes:
            lines += wrapped(f"{f.code} {f'{f.place}: ' if f.place else ''}{f.sentence}", "  ")
    lines += ["", f"Quorums: {audit.quorums}.", "Cannot be concluded:"]
    for text in audit.open:
        lines += wrapped(f"- {text}", "  ")
    return "\n".join(lines)


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
    for name, value in (
        ("concerns", row.concerns),
        ("clients", row.clients),
        ("known bugs", row.bugs),
        ("to do", row.do),
    ):
        if value:
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
        "to_do": row.do or None,
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


def as_json(audit: Audit, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the audit as JSON values, with the request that it answers."""
    return {
        "format": FORMAT,
        "zabcheck": installed_version(),
        "verdict": audit.verdict,
        "sentence": sentence(audit),
        "exit_code": audit.code,
        "request": request,
        "quorums": audit.quorums,
        "servers": [server_json(s, audit) for s in audit.servers],
        "findings": [finding_json(f) for f in audit.told(VIOLATION, WARN)],
        "notes": [finding_json(f) for f in audit.told(NOTE)],
        "cannot_be_concluded": audit.open,
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


def as_sarif(audit: Audit) -> bytes:
    rules = [
        sarif.Rule(c.code, f"{c.what}.", " ".join(t for t in (c.concerns, c.clients, c.bugs, c.do) if t)) for c in TABLE
    ]
    found = []
    for f in audit.findings:
        where = sarif.Place(
            path_of(audit, f), 0, f.offset if f.offset >= 0 else None, 0, f.server or ", ".join(f.servers)
        )
        same = f"{f.code} {f.server} {f.file} {f.zxid}"
        found.append(
            sarif.Finding(
                f.code, LEVELS[f.severity], f"{f.place}: {f.sentence}", [where], same=same, further=finding_json(f)
            )
        )
    trouble = [f"{f.place}: {f.sentence}" for f in audit.findings if f.code == "UNREADABLE"]
    paths = [path for f in audit.findings if (path := path_of(audit, f)) is not None]
    root = top_of(*paths) if paths else Path()
    return sarif.sarif(found, rules, root, audit.code, trouble)


def as_junit(audit: Audit) -> bytes:
    """A test case for each server and code that can be more than a note; what was not concluded is skipped."""
    root = ElementTree.Element("testsuites", name="zabcheck audit")
    suite = ElementTree.SubElement(root, "testsuite", name="zabcheck audit")
    counts = {"failures": 0, "errors": 0, "skipped": 0}
    total = 0
    for name in [*(s.name for s in audit.servers), "ensemble"]:
        for row in TABLE:
            found = [f for f in audit.findings if f.code == row.code and (f.server or "ensemble") == name]
            if not found and not row.clients.rstrip(".") not in ("", "None"):
                continue
            total += 1
            case = ElementTree.SubElement(suite, "testcase", classname=clean(name), name=row.code, time="0")
            grave = [f for f in found if f.severity != NOTE]
            if not grave:
                continue
            kind = "error" if row.code == "UNREADABLE" else "failure" if grave[0].severity == VIOLATION else "skipped"
            counts[{"error": "errors", "failure": "failures", "skipped": "skipped"}[kind]] += 1
            element = ElementTree.SubElement(case, kind, message=clean(f"{grave[0].place}: {grave[0].sentence}"))
            element.text = clean("\n".join("\n".join(finding_text(f)) for f in grave))
    for element in (root, suite):
        element.set("tests", str(total))
        for key in ("failures", "errors", "skipped"):
            element.set(key, str(counts[key]))
    ElementTree.SubElement(suite, "system-out").text = clean(sentence(audit))
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document
