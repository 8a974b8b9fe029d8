"""Report what a change of ZooKeeper's sources affects."""

from __future__ import annotations

from typing import Any

from checker.ending import HELD, NO_VERDICT, VIOLATED
from checker.report.result import Part, StatedResult, Table, installed_version, plural
from checker.requests.drift import DriftRequest
from checker.zookeeper.citations import CitingFunction
from checker.zookeeper.drift import ABSENT, CHANGED, NEW, UNCHANGED, UNKNOWN, Drift, MethodDrift

NOTHING = "-"


def stated(request: DriftRequest, drift: Drift, version: str) -> StatedResult:
    """Return the result.

    Its exit code is 0 if every cited method, and what these use, is unchanged, 1 if one has changed, 3 if one is not
    known, and none has changed.
    """
    changed, unknown = drift.of(CHANGED, NEW), drift.of(UNKNOWN)
    used, lost = drift.used_of(CHANGED, NEW), drift.used_of(UNKNOWN)
    code = VIOLATED if changed or used else NO_VERDICT if unknown or lost else HELD
    guess = "" if request.against else f" (the nearest to {version}, the version of the tree)"
    above = f"model: ZooKeeper {drift.release}{guess}; compared with {drift.against}"
    parts: list[Part] = [above]
    if changed or unknown:
        head = ("method", "state", "functions of the model", "steps", "other variants", "difference")
        parts.append(Table([row(m) for m in (*changed, *unknown)], head, right=-1))
    if used or lost:
        head = ("used by cited methods", "state", "used by", "functions of the model", "steps", "difference")
        parts.append(Table([row_of_used(m) for m in (*used, *lost)], head, right=-1))
    sentence = summary(drift)
    parts.append(Table(uncovered(drift), ("not covered", "functions"), below=sentence))
    return StatedResult(sentence, code, content(request, drift, version, code), parts, kind=request.kind)


def summary(drift: Drift) -> str:
    """Return the result in a sentence; what is unknown is not counted among what has not changed."""
    changed, unknown = drift.of(CHANGED, NEW), drift.of(UNKNOWN)
    known = len(drift.of(UNCHANGED)) + len(changed)
    of = f"{plural(known, 'cited method')}{' that could be compared' if unknown else ''}"
    sentence = f"{len(changed) or 'none'} of {of} {'has' if len(changed) == 1 else 'have'} changed"
    used, lost = drift.used_of(CHANGED, NEW), drift.used_of(UNKNOWN)
    compared = len(drift.used) - len(lost)
    if drift.used:
        sentence += f", and {len(used) or 'none'} of {plural(compared, 'method')} and fields that they use"
    sentence += f"; {plural(len(unknown) + len(lost), 'method')} or fields unknown" if lost else ""
    sentence += f"; {plural(len(unknown), 'method')} unknown" if unknown and not lost else ""
    return sentence + f"; not covered: {plural(len(drift.uncovered), 'function')} of the model, listed above"


def row(m: MethodDrift) -> tuple[str, ...]:
    functions = ", ".join(f"{f.name} ({f.file}:{f.line})" for f in m.functions)
    cells = (m.method, m.state, functions, ", ".join(m.steps), ", ".join(m.variants), difference(m))
    return tuple(cell or NOTHING for cell in cells)


def row_of_used(m: MethodDrift) -> tuple[str, ...]:
    functions = ", ".join(f.name for f in m.functions)
    cells = (m.method, m.state, ", ".join(m.by), functions, ", ".join(m.steps), difference(m))
    return tuple(cell or NOTHING for cell in cells)


def difference(m: MethodDrift) -> str:
    return f"{m.place}: {m.why}" if m.place else m.why


def uncovered(drift: Drift) -> list[tuple[str, str]]:
    """Return the functions that no drift can name.

    They are those whose steps are named by a drift of their callers' methods, and those that are not covered at all.
    """
    through = [u.function.name for u in drift.uncovered if u.through]
    alone = [u.function.name + (f" ({u.why})" if u.why else "") for u in drift.uncovered if not u.through]
    absent = [m.method for m in drift.of(ABSENT) if m.functions]
    rows = [
        ("only through their callers", ", ".join(through)),
        ("not at all", ", ".join(alone)),
        ("methods that do not exist, as recorded", ", ".join(absent)),
    ]
    return [(name, cell or NOTHING) for name, cell in rows]


def content(request: DriftRequest, drift: Drift, version: str, code: int) -> dict[str, Any]:
    """Return the result as JSON."""
    return {
        "zabcheck": installed_version(),
        "request": request.as_json(),
        "version": version,
        "release": drift.release,
        "against": drift.against,
        "methods": [as_json(m) for m in drift.methods],
        "used": [{**as_json(m), "by": list(m.by)} for m in drift.used if m.state != UNCHANGED],
        "used_unchanged": len(drift.used_of(UNCHANGED)),
        "uncovered": [
            {**placed(u.function), "through": list(u.through), "why": u.why} for u in drift.uncovered
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
