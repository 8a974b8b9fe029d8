"""`zabcheck quorums`: do the quorums of a ZooKeeper configuration intersect, and what do they survive?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from checker.commands.common import INPUT, Subcommand
from checker.commands.publishing import published
from checker.report.result import Part, StatedResult, Table
from checker.requests.quorums import QuorumsRequest, answer

__all__ = ["quorums"]


@click.command(cls=Subcommand)
@click.argument("config", type=INPUT)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the solver.")
@click.option(
    "--query-limit", type=float, default=10.0, show_default=True, metavar="SECONDS",
    help="Time limit of each query.",
)  # fmt: skip
@published("quorums")
def quorums(config: Path, seed: int, query_limit: float) -> StatedResult:
    """Prove that the quorums of a zoo.cfg intersect, or show two that do not.

    CONFIG holds server., group. and weight. lines; other lines are ZooKeeper's business. Also says how
    many crashes the ensemble survives, and proves what is needed of zxids as 64-bit words.
    """
    request = QuorumsRequest(str(config), seed, query_limit)
    found = answer(request)
    report = {"request": request.as_json()} | found.as_json()
    return StatedResult(verdict(report), found.code, report, parts(report), kind="quorums")


def parts(report: dict[str, Any]) -> list[Part]:
    """For people."""
    lines = [verdict(report), f"{report['kind']}; participants {named(report['participants'])}"]
    if report["observers"]:
        lines.append(f"observers, which do not vote: {named(report['observers'])}")
    s = report["survives"]
    if s:
        lines.append(
            f"survives any {s['any']} crash{'es' * (s['any'] != 1)}; not that of {named(s['stopped_by'])}; at best "
            f"{s['at_best']}, as long as {named(s['enough'])} are up"
        )
    words = {"proved": "proved", "counterexample": "not so", "undecided": "undecided"}
    lemmas = [(words[x["answer"]], x["name"] + (f": {x['example']}" if x["example"] else "")) for x in report["lemmas"]]
    return ["\n".join(lines), Table(lemmas, title="Lemmas, for any numbers")]


def verdict(report: dict[str, Any]) -> str:
    """The first line."""
    if report["disjoint_quorums"]:
        one, other = report["disjoint_quorums"]
        return f"two disjoint quorums: {named(one)} and {named(other)}: each could elect a leader of its own"
    if not report["has_quorum"]:
        return "there is no quorum, even with every server up: no weight counts, so nothing is ever committed"
    if report["intersection"] == "undecided":
        return f"undecided: {report['reason']}"
    return f"proved: any two quorums intersect ({1000 * report['seconds']:.0f} ms)"


def named(servers: list[int]) -> str:
    return ", ".join(map(str, servers)) or "none"
