"""Report whether the quorums of a configuration intersect, and what they survive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.report.result import Part, StatedResult, Table


def quorums_result(request: Mapping[str, Any], found: Mapping[str, Any], code: int) -> StatedResult:
    """Return the result for the quorums of a configuration.

    Args:
        request: the one that it answers, as JSON.
        found: the answer, as JSON.
        code: the exit code of the command.
    """
    report = {"request": dict(request), **found}
    return StatedResult(verdict(report), code, report, parts(report), kind="quorums")


def parts(report: dict[str, Any]) -> list[Part]:
    """Return the result for people."""
    of = f"{report['kind']}; participants {named(report['participants'])}, as {report['release']} reads the file"
    lines = [verdict(report), of, *(f"note: {said}" for said in report["warnings"])]
    if report["observers"]:
        lines.append(f"observers, which do not vote: {named(report['observers'])}")
    s = report["survives"]
    if s:
        lines.append(
            f"survives any {s['any']} crash{'es' if s['any'] != 1 else ''}; not that of {named(s['stopped_by'])}; "
            f"at best {s['at_best']}, while {named(s['enough'])} are up"
        )
    words = {"proved": "proved", "counterexample": "not so", "undecided": "undecided"}
    lemmas = [(words[x["answer"]], x["name"] + (f": {x['example']}" if x["example"] else "")) for x in report["lemmas"]]
    return ["\n".join(lines), Table(lemmas, title="Lemmas, for any numbers")]


def verdict(report: dict[str, Any]) -> str:
    """Return the first line."""
    if report["disjoint_quorums"]:
        one, other = report["disjoint_quorums"]
        return f"two disjoint quorums: {named(one)} and {named(other)}: each could elect a leader of its own"
    if not report["has_quorum"]:
        return "there is no quorum, whichever servers are up, so nothing is ever committed"
    if report["intersection"] == "undecided":
        return f"undecided: {report['reason']}"
    return f"proved: any two quorums intersect ({1000 * report['seconds']:.0f} ms)"


def named(servers: list[int]) -> str:
    return ", ".join(map(str, servers)) or "none"
