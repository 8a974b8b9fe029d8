"""Report what a change of ZooKeeper's sources affects."""

from __future__ import annotations

from typing import Any

from checker.ending import HELD, NO_VERDICT, VIOLATED
from checker.report.result import Part, StatedResult, Table, installed_version, plural
from checker.requests.drift import DriftRequest
from checker.zookeeper.citations import CitingFunction
from checker.zookeeper.drift import ABSENT, CHANGED, NEW, UNCHANGED, UNKNOWN, Drift, MethodDrift

__all__ = ["stated"]

NOTHING = "-"


def stated(request: DriftRequest, drift: Drift, version: str) -> StatedResult:
    """Return the result.

    Its exit code is 0 if every cited method is unchanged, 1 if one has changed, 3 if one is not known, and none has
    changed.
    """
    changed, unknown = drift.of(CHANGED, NEW), drift.of(UNKNOWN)
    code = VIOLATED if changed else NO_VERDICT if unknown else HELD
    known = len(drift.of(UNCHANGED)) + len(changed)
    of = f"{plural(known, 'cited method')}{' that could be compared' if unknown else ''}"
    sentence = f"{len(changed) or 'none'} of {of} {'has' if len(changed) == 1 else 'have'} changed"
    sentence += f"; {plural(len(unknown), 'method')} unknown" if unknown else ""
    sentence += f"; not covered: {plural(len(drift.uncovered), 'function')} of the model, listed above"
    guess = "" if request.against else f" (the nearest to {version}, the version of the tree)"
    above = f"model: ZooKeeper {drift.release}{guess}; compared with {drift.against}"
    rows = [row(m) for m in (*changed, *unknown)]
    head = ("method", "state", "functions of the model", "steps", "other variants", "difference")
    parts: list[Part] = [above, Table(rows, head, right=-1)] if rows else [above]
    parts.append(Table(uncovered(drift), ("not covered", "functions"), below=sentence))
    return StatedResult(sentence, code, content(request, drift, version, code), parts, kind=request.kind)


def row(m: MethodDrift) -> tuple[str, ...]:
    functions = ", ".join(f"{f.name} ({f.file}:{f.line})" for f in m.functions)
    what = f"{m.place}: {m.why}" if m.place else m.why
    cells = (m.method, m.state, functions, ", ".join(m.steps), ", ".join(m.variants), what)
    return tuple(cell or NOTHING for cell in cells)


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
        "methods": [
            {
                "method": m.method, "state": m.state, "why": m.why, "place": m.place,
                "functions": [placed(f) for f in m.functions], "steps": list(m.steps), "variants": list(m.variants),
            }
            for m in drift.methods
        ],
        "uncovered": [
            {**placed(u.function), "through": list(u.through), "why": u.why} for u in drift.uncovered
        ],
        "exit_code": code,
    }  # fmt: skip


def placed(f: CitingFunction) -> dict[str, Any]:
    return {"function": f.name, "file": f.file, "line": f.line}
