"""Report what a change of ZooKeeper's sources affects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report.answer import StatedAnswer
from checker.report.result import Part, Table, plural
from checker.zookeeper.citations import CitingFunction
from checker.zookeeper.drift import ABSENT, CHANGED, NEW, UNCHANGED, UNKNOWN, Drift, MethodDrift
from zabspec import __version__

if TYPE_CHECKING:
    from checker.requests.base.request import Request

NOTHING = "-"


def stated(request: Request, drift: Drift, version: str, guessed: bool) -> StatedAnswer:
    """Return the result; the release may be guessed from the version of the tree.

    Its exit code is 0 if every cited method, and what these use, is unchanged, 1 if one has changed, 3 if one is not
    known, and none has changed.
    """
    changed, unknown = drift.of(CHANGED, NEW), drift.of(UNKNOWN)
    used, lost = drift.used_of(CHANGED, NEW), drift.used_of(UNKNOWN)
    code = VIOLATED if changed or used else NO_VERDICT if unknown or lost else HELD
    guess = f" (the nearest to {version}, the version of the tree)" if guessed else ""
    above = f"model: ZooKeeper {drift.release}{guess}; compared with {drift.against}"
    parts: list[Part] = [above]
    head = ("state", "functions of the model", "steps", "other variants", "difference")
    for name, found in (("method", [*changed, *unknown]), ("used by cited methods", [*used, *lost])):
        if found:
            parts.append(Table([row(m) for m in found], (name, *head), right=-1))
    sentence = summary(drift)
    parts.append(Table(uncovered(drift), ("not covered", "functions"), below=sentence))
    return StatedAnswer(sentence, code, content(request, drift, version, code), parts, kind=request.kind)


def summary(drift: Drift) -> str:
    """Return the result in a sentence; what is unknown is not counted among what has not changed."""
    changed, unknown = drift.of(CHANGED, NEW), drift.of(UNKNOWN)
    known = plural(len(drift.of(UNCHANGED)) + len(changed), "cited method")
    compared = f"{known} that could be compared" if unknown else known
    sentence = f"{len(changed) or 'none'} of {compared} {'has' if len(changed) == 1 else 'have'} changed"
    used, lost = drift.used_of(CHANGED, NEW), drift.used_of(UNKNOWN)
    if drift.used:
        of = plural(len(drift.used) - len(lost), "method")
        sentence += f", and {len(used) or 'none'} of {of} and fields that they use"
    if unknown or lost:
        sentence += f"; {plural(len(unknown) + len(lost), 'method')}{' or fields' if lost else ''} unknown"
    return sentence + f"; not covered: {plural(len(drift.uncovered), 'function')} of the model, listed above"


def row(m: MethodDrift) -> tuple[str, ...]:
    functions = ", ".join(f"{f.name} ({f.file}:{f.line})" for f in m.functions)
    by = f"used by {', '.join(m.by)}" if m.by else ""
    difference = ": ".join(filter(None, (m.place, m.why, by)))
    cells = (m.method, m.state, functions, ", ".join(m.steps), ", ".join(m.variants), difference)
    return tuple(cell or NOTHING for cell in cells)


def uncovered(drift: Drift) -> list[tuple[str, str]]:
    """Return the functions that no drift can name."""
    alone = [f.name + (f" ({why})" if why else "") for f, why in drift.uncovered]
    absent = [m.method for m in drift.of(ABSENT) if m.functions]
    rows = [
        ("functions that cite no method", ", ".join(alone)),
        ("methods that do not exist, as recorded", ", ".join(absent)),
    ]
    return [(name, cell or NOTHING) for name, cell in rows]


def content(request: Request, drift: Drift, version: str, code: int) -> dict[str, Any]:
    """Return the result as JSON."""
    return {
        "zabcheck": __version__,
        "request": request.as_json(),
        "version": version,
        "release": drift.release,
        "against": drift.against,
        "methods": [as_json(m) for m in drift.methods],
        "used": [{**as_json(m), "by": list(m.by)} for m in drift.used if m.state != UNCHANGED],
        "used_unchanged": len(drift.used_of(UNCHANGED)),
        "uncovered": [
            {**placed(f), "why": why} for f, why in drift.uncovered
        ],
        "exit_code": code,
    }  # fmt: skip


def as_json(m: MethodDrift) -> dict[str, Any]:
    return {
        "method": m.method, "state": m.state, "why": m.why, "place": m.place,
        "functions": [placed(f) for f in m.functions], "steps": list(m.steps), "variants": list(m.variants),
    }  # fmt: skip


def placed(f: CitingFunction) -> dict[str, Any]:
    return {"function": f.name, "file": f.file, "line": f.line}
