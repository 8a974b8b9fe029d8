"""The report of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from msgspec import to_builtins

from checker.opinion.outcome import NO_OPINION, SecondOpinion
from checker.report.answer import Answered
from checker.report.result import (
    ERROR,
    FAILURE,
    SKIPPED,
    Part,
    Verdict,
    plural,
)
from checker.zookeeper.report.audit_document import AuditReport, finding_of, forecast_of, server_of, start_of
from checker.zookeeper.report.audit_forecast import forecast_lines, verdict_of
from traces.zookeeper.audit.audit import Audit
from traces.zookeeper.audit.codes import CODES, TABLE
from traces.zookeeper.audit.findings import DANGER, GRAVE, NOTE, VIOLATION, WARN, AuditFinding
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.server import Server
from zabspec import __version__

if TYPE_CHECKING:
    from checker.requests.base.request import Request

FORMAT = 1
MOST_LISTED = 10  # values of a piece of evidence; JSON has all


def sentence(audit: Audit) -> str:
    """Return the verdict in a line."""
    servers = audit.servers
    records = sum(s.records for s in servers)
    of = f"{plural(len(servers), 'server')}, {records:,} records"
    checked = sum(r.checked for r in audit.replays.values())
    of += f", {checked:,} digests replayed" if checked else ", no digests replayed"
    words = ((VIOLATION, "violation"), (DANGER, "danger"), (WARN, "warning"), (NOTE, "note"))
    counts = [(len(audit.told(severity)), word) for severity, word in words]
    said = [plural(n, word) for n, word in counts if n]
    return f"{audit.verdict}: {of}; {', '.join(said) or 'nothing odd'}"


def headline(audit: Audit) -> str:
    """Return a line that says whether data is in danger, who serves, and what not to do."""
    first = next((f for f in audit.findings if f.severity == audit.verdict), None)
    what = f"{first.code} {first.place}".rstrip() if first is not None else ""
    held = any(f.advice for f in audit.findings) or not audit.rest_serves
    blamed = ", ".join(sorted({name for f in audit.told(VIOLATION) for name in (f.server, *f.servers) if name}))
    delete = "Do not delete, move away or replace any directory"
    said, then = f"{whole_words(audit)}; {service_words(audit)}", f"{delete} before that is known."
    if audit.verdict == VIOLATION and not held and blamed:
        said = f"data of {blamed} is damaged or lost ({what}); the others are a quorum without findings; "
        said += service_words(audit)
        then = f"Do not touch their directories, nor that of {blamed} before it is copied."
    elif audit.verdict == VIOLATION:
        said = f"data is in danger, or lost ({what}); {service_words(audit)}"
        then = f"{delete} before all are copied and understood."
    elif audit.verdict == DANGER and audit.data in ("whole", "unknown"):
        said, then = f"{said}; look at {what}", f"{delete}: it may be needed."
    elif audit.verdict == DANGER:
        said = f"acknowledged writes, or the service, can be lost by what is done next ({what}); "
        said += service_words(audit)
        then = f"{delete}, and do not start servers in an arbitrary order: read what to do first."
    elif audit.verdict == "UNKNOWN" and audit.unanswered:
        one = audit.unanswered[0]
        said = f"whether data is lost is unknown: {': '.join(filter(None, (one.place, one.sentence)))}"
    elif audit.verdict == WARN:
        said, then = f"{said}; look at {what}", "Do not delete files to repair it."
    elif audit.verdict == "OK":
        then = "Do not delete or move away a directory while the other servers are no quorum that serves."
    return f"{audit.verdict}: {said}. {then}"


def whole_words(audit: Audit) -> str:
    """Return what is known of the data of servers of which nothing graver is found."""
    if audit.unanswered:
        return "whether data is lost is unknown"
    if any(f.code == "LAST_COPY" and f.severity == WARN for f in audit.findings):
        return "these look like copies of running servers, made one after another: then the data is whole"
    if audit.too_few:
        return "whether data is in danger is unknown: these servers are not known to be a quorum of those that vote"
    if audit.data == "whole":
        return "the data is whole"
    tails: dict[str, list[str]] = {}
    for f in audit.tails:
        tails.setdefault(f"{zxid_text(f.zxid)}..{zxid_text(f.last)}", []).append(f.server)
    alone = " and ".join(f"{zxids} on {', '.join(names)}" for zxids, names in tails.items())
    unknown = f"; whether {alone} alone was acknowledged is unknown" if alone else ""
    return f"what a quorum of these disks has is whole{unknown}"


def service_words(audit: Audit) -> str:
    """Return who serves when all servers are started."""
    service, others = audit.service, " once those are up that were not given" if audit.too_few else ""
    count = len(service.voters)
    said = [f"{name} {why}" for name, why in service.unable.items()]
    if service.state == "all":
        voting = " that vote" if said else ""
        said.append(f"all {count}{voting} serve{others}" if count > 1 else f"it serves{others}")
    elif service.state == "quorum":
        said.append(f"{len(service.serving)} of {count} serve{others}")
    else:
        said.append("no quorum serves" if service.state == "none" else "whether a quorum serves is unknown")
    return "; ".join(said)


def assumed_lines(audit: Audit) -> list[str]:
    """Return the lines on what an audit assumes."""
    return ["Assumed:", *(indented(f"{name}: {said}") for name, said in audit.assumed.items())]


def start_lines(audit: Audit) -> list[str]:
    """Return the lines on what each server starts with."""
    of, *each = start_sentences(audit)
    return [f"What starts, {of}:", *(f"  {said}" for said in each)]


def start_sentences(audit: Audit) -> list[str]:
    """Return the scope of the statements on what starts, and then a sentence for each server."""
    ordered = list(dict.fromkeys(r for x in audit.starts for r in x.releases))
    ordered.sort(key=lambda r: [int(p) if p.isdigit() else 99 for p in r.split(".")])
    of = audit.release or f"{releases_text(ordered, ordered)}, which can have written the files; --release names one"
    said = [f"of these files and no others ({of})"]
    for x in audit.starts:
        one = len([y for y in audit.starts if y.server == x.server]) == 1
        said.append(f"{x.server}{'' if one else ', ' + releases_text(x.releases, ordered)}: {x.sentence}")
    return said


def releases_text(releases: Sequence[str], ordered: Sequence[str]) -> str:
    """Return releases as ranges within those that are in question, in their order."""
    places = sorted(ordered.index(r) for r in releases)
    runs: list[list[int]] = []
    for p in places:
        if runs and runs[-1][-1] == p - 1:
            runs[-1].append(p)
        else:
            runs.append([p])
    return ", ".join(ordered[r[0]] if len(r) == 1 else f"{ordered[r[0]]} to {ordered[r[-1]]}" for r in runs)


@dataclass(frozen=True, repr=False)
class Audited(Answered):
    """The report of an audit.

    Attributes:
        audit: the audit.
        second: how the second semantics' opinion of the forecast compares.
    """

    audit: Audit
    request: Request | None = None
    second: SecondOpinion = NO_OPINION

    kind = "audit"
    framed = True  # the page has its timelines
    suites = "zabcheck audit"

    @property
    def sentence(self) -> str:
        return sentence(self.audit)

    @property
    def exit_code(self) -> int:
        return 3 if self.second.difference else self.audit.code

    @cached_property
    def forecast_lines(self) -> list[str]:
        """The lines on the forecast; none if it was not asked for."""
        ahead = self.audit.forecast
        lines = forecast_lines(ahead) if ahead is not None else []
        return [*lines, *(f"  {name}: {said}" for name, said in self.second.row)]

    @property
    def title(self) -> str:
        return self.suites

    def parts(self) -> Sequence[Part]:
        """Return the verdict, the findings in full, notes in a line each, and what cannot be concluded."""
        audit = self.audit
        counts = self.sentence.split(": ", 1)[1]
        lines = [headline(audit), *assumed_lines(audit), counts]
        lines += [f"  {s.name}: {server_line(s)}" for s in audit.servers]
        parts = ["\n".join(lines), "\n".join(start_lines(audit))]
        if audit.forecast is not None:
            parts.append("\n".join(self.forecast_lines))
        elif audit.verdict == DANGER:
            parts.append("Which servers can be started first, and what is lost otherwise: run with --forecast.")
        parts += ["\n".join(finding_text(f)) for f in audit.told(*GRAVE)]
        if notes := audit.told(NOTE):
            lines = ["Notes: unusual, but legitimate"]
            for f in notes:
                lines.append(indented(f"{f.code} {f'{f.place}: ' if f.place else ''}{f.sentence}"))
            parts.append("\n".join(lines))
        lines = ["Cannot be concluded:", *(f"  - {text}" for text in audit.open)]
        return [*parts, "\n".join(lines)]

    def said(self) -> Iterator[Verdict]:
        """Yield for each server each code that can be more than a note; what was not concluded is skipped."""
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
                ends = ERROR if any(f in self.audit.unanswered for f in grave) else ends
                message = f"{grave[0].place}: {grave[0].sentence}"
                text = "\n".join("\n".join(finding_text(f)) for f in grave)
                yield Verdict(
                    row.code, grave[0].severity, None, message, text=text, ends=ends, message=message, group=name
                )

    def page(self) -> str:
        from checker.zookeeper.report.audit_page import as_html

        ahead = self.audit.forecast
        runs = [(", ".join(o.started), o.run) for o in ahead.outcomes] if ahead is not None else []
        starts = start_sentences(self.audit)
        return as_html(self.audit, self.sentence, headline(self.audit), starts, in_words, self.forecast_lines, runs)

    def as_json(self) -> dict[str, Any]:
        audit, ahead = self.audit, self.audit.forecast
        report = AuditReport(
            format=FORMAT,
            zabcheck=__version__,
            verdict=audit.verdict,
            data=audit.data,
            service=audit.service.state,
            headline=headline(audit),
            sentence=self.sentence,
            exit_code=self.exit_code,
            request=self.request.as_json() if self.request else None,
            assumed=audit.assumed,
            servers=[server_of(s, audit) for s in audit.servers],
            starts=[start_of(x) for x in audit.starts],
            forecast=forecast_of(ahead, verdict_of(ahead), self.second) if ahead is not None else None,
            findings=[finding_of(f) for f in audit.told(*GRAVE)],
            notes=[finding_of(f) for f in audit.told(NOTE)],
            cannot_be_concluded=audit.open,
        )
        return cast("dict[str, Any]", to_builtins(report))


def server_line(s: Server) -> str:
    if not s.records:
        return "no transaction in its logs"
    first = s.runs[0].lo if s.runs else 0
    files = f"{plural(len(s.logs), 'log')}, {plural(len(s.snapshots), 'snapshot')}"
    return f"{zxid_text(first)} to {zxid_text(s.top)}, {files}"


def finding_text(f: AuditFinding) -> list[str]:
    """Return the lines of a finding: its sentence, its evidence and the advice."""
    row = CODES[f.code]
    lines = [f"{f.severity} {f.code}{f' {f.place}' if f.place else ''}", indented(f.sentence), f"  {row.what}."]
    for name, value in f.evidence.items():
        lines += [indented(said, "    ") for said in in_words(name, value)]
    for name, value in row.advice(f.advice):
        lines.append(indented(f"{name}: {value}"))
    return lines


def indented(text: str, indent: str = "  ") -> str:
    """Return a line of the report; what a name in it has of line breaks is a blank."""
    return indent + "".join(" " if c.isspace() else c for c in text)


def in_words(name: str, value: Any) -> list[str]:
    """Return evidence in ZooKeeper's terms: zxids, paths, sessions."""
    if value is None:
        return [f"{name}: it cannot be decoded"]
    if isinstance(value, bool):
        return [f"{name}: {'yes' if value else 'no'}"]
    if isinstance(value, list):
        more = [f"{len(value) - MOST_LISTED} more"] if len(value) > MOST_LISTED else []
        return [f"{name}: {', '.join([*map(str, value[:MOST_LISTED]), *more]) or 'none'}"]
    if isinstance(value, Mapping) and {"zxid", "kind", "session"} <= value.keys():
        return [f"{name}: {transaction_words(value)}"]
    if isinstance(value, Mapping):
        return [f"{name}:", *(f"  {key}: {said}" for key, said in value.items())]
    return [f"{name}: {value}"]


def transaction_words(txn: Mapping[str, Any]) -> str:
    """Return a transaction in a line."""
    epoch, counter = str(txn["zxid"]).split(":")
    said = [f"zxid 0x{int(epoch, 16) << 32 | int(counter, 16):x}, {operation_words(txn)}"]
    said += [f"parts: {'; '.join(operation_words(p) for p in txn['parts'])}"] if "parts" in txn else []
    return ", ".join([*said, f"session {txn['session']}, cxid 0x{txn['cxid'] & 0xFFFFFFFF:x}, {moment(txn['time'])}"])


def moment(milliseconds: int) -> str:
    """Return a time of a leader's clock as a date; one that no calendar has as its number."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(" ", "milliseconds").replace("+00:00", " UTC")
    except (OverflowError, ValueError, OSError):
        return f"time {milliseconds} ms"


def operation_words(part: Mapping[str, Any]) -> str:
    """Return what a transaction, or a part of a multi, does."""
    said = [str(part[name]) for name in ("kind", "path") if name in part]
    if isinstance(data := part.get("data"), Mapping):
        text = f" {data['text']!r}" if "text" in data else ""
        said.append(f"with {data['length']} bytes{text} (sha256 {data['sha256'][:12]}...)")
    said += [f"version {part['version']}"] if "version" in part else []
    said += ["ephemeral"] if part.get("ephemeral") else []
    said += [f"error {part['error']}"] if "error" in part else []
    return " ".join(said)
