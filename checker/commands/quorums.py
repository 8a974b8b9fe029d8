"""`zabcheck quorums`: check that the quorums of a ZooKeeper configuration intersect, and what they survive."""

from __future__ import annotations

from pathlib import Path

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import INPUT, Subcommand
from checker.commands.publishing import published
from checker.report.quorums import quorums_result
from checker.report.result import StatedResult
from checker.requests.quorums import QuorumsRequest, answer
from zabspec.zoo_cfg import NEWEST


@click.command(cls=Subcommand)
@click.argument("config", type=INPUT)
@shared.named(
    "--release", "NUMBER", f"The release that reads CONFIG (default: {NEWEST}).", completing.zookeeper_releases
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the solver.")
@click.option(
    "--query-limit", type=float, default=10.0, show_default=True, metavar="SECONDS",
    help="Time limit of each query.",
)  # fmt: skip
@published("quorums")
def quorums(config: Path, release: str | None, seed: int, query_limit: float) -> StatedResult:
    """Prove that the quorums of a zoo.cfg intersect, or show two that do not.

    CONFIG is read as a server of the release reads it, with the file that its dynamicConfigFile names. The report
    also says how many crashes the ensemble survives, and proves the needed properties of zxids as 64-bit words.
    """
    request = QuorumsRequest(str(config), release or "", seed, query_limit)
    found = answer(request)
    return quorums_result(request.as_json(), found.as_json(), found.code)
