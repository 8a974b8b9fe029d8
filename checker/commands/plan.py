"""`zabcheck plan`: estimate the throughput and the latency of an ensemble, and what bounds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import INPUT, Subcommand
from checker.commands.publishing import published
from checker.errors import RequestError
from checker.report.planned import plan_result
from checker.report.result import StatedResult
from checker.requests.plan import QUORUMS, SIZES, TIMES, PlanRequest, amount, answer
from checker.requests.quorum_system import zoo_cfg

if TYPE_CHECKING:
    from pathlib import Path


def quantity(units: Mapping[str, int], example: str) -> Any:
    """Return a callback that checks a number with its unit; its error names the option."""

    def check(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
        try:
            return None if value is None else amount(value, units, param.opts[0], example)
        except RequestError as problem:
            raise click.UsageError(str(problem), ctx) from None

    return check


@click.command(cls=Subcommand)
@click.argument("config", required=False, type=INPUT, metavar="[ZOO.CFG]")
@click.option("--servers", type=int, help="Number of servers, 2 to 13 (3, or the voting servers of ZOO.CFG).")
@click.option(
    "--latency", default="0.1ms", show_default=True, callback=quantity(TIMES, "100us or 2ms"), metavar="TIME",
    help="Round-trip time between two servers, as ping measures it.",
)  # fmt: skip
@shared.named("--disk", "NAME", "Kind of disk: none, cache, hdd or ssd.", completing.disks, "cache")
@click.option(
    "--forced-write", callback=quantity(TIMES, "0.4ms"), metavar="TIME",
    help="Time to force the log to disk, if you have measured it.",
)  # fmt: skip
@click.option(
    "--size", default="1k", show_default=True, callback=quantity(SIZES, "1k or 512"), metavar="SIZE",
    help="Size of an operation in bytes.",
)  # fmt: skip
@click.option(
    "--outstanding",
    type=int,
    default=1000,
    show_default=True,
    help="Operations outstanding at any time, 1 to 1000.",
)
@click.option(
    "--slow", type=int, default=0, show_default=True, help="Number of slow followers; the leader is not slow."
)
@click.option(
    "--slow-by",
    default="10ms",
    show_default=True,
    callback=quantity(TIMES, "500us or 10ms"),
    metavar="TIME",
    help="Extra time of each message to or from a slow follower.",
)
@click.option(
    "--quorum", type=click.Choice(QUORUMS), default=QUORUMS[0], show_default=True,
    help="Servers that acknowledge an operation before it is delivered: any majority, or all.",
)  # fmt: skip
@published("plan", "The answer as JSON.")
def plan(
    config: Path | None, servers: int | None, latency: int, disk: str, forced_write: int | None, size: int,
    outstanding: int, slow: int, slow_by: int, quorum: str,
) -> StatedResult:  # fmt: skip
    """Estimate throughput and latency of an ensemble by running zab's handlers in a world with time.

    The servers of ZOO.CFG that vote are counted. The result is of a model, not a measurement:
    docs/explanation/performance.md says what it was compared with, and what it leaves out.
    """
    if config is not None and servers is not None:
        raise click.UsageError("--servers does not go with a configuration, which has its servers")
    ensemble = zoo_cfg(config).voters if config is not None else None
    if ensemble is not None:
        servers = len(ensemble.participants)
    servers = 3 if servers is None else servers
    request = PlanRequest(servers, latency, disk, forced_write, size, outstanding, slow, slow_by, quorum)
    setting, found = answer(request)
    return plan_result(request.as_json(), setting, found, ensemble)
