"""`zabcheck plan`: the throughput and the latency that an ensemble may be expected to have, and what bounds them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import INPUT, Subcommand
from checker.commands.publishing import published
from checker.report.result import Part, StatedResult, Table
from checker.requests.audit import config_text
from checker.requests.plan import QUORUMS, PlanRequest, answer
from zabspec.ensemble import parse

if TYPE_CHECKING:
    from pathlib import Path

    from zabspec.ensemble import Ensemble
    from zabspec.timed.planned import CapacityPlan
    from zabspec.timed.setting import Setting

__all__ = ["plan"]

TIMES = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
SIZES = {"": 1, "b": 1, "k": 1024, "kb": 1024, "kib": 1024, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20}


def quantity(units: dict[str, int], example: str) -> Any:
    """Checks a number with its unit; errors name the option."""

    def check(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
        if value is None:
            return None
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?) ?([a-z]*)", value.strip().lower().replace("µ", "u"), re.ASCII)
        if found is None or found[2] not in units:
            raise click.UsageError(f"{param.opts[0]} must be like {example}, not {value!r}", ctx)
        return round(float(found[1]) * units[found[2]])

    return check


@click.command(cls=Subcommand)
@click.argument("config", required=False, type=INPUT, metavar="[ZOO.CFG]")
@click.option("--servers", type=int, help="Servers of the ensemble, 2 to 13 (3, or those of ZOO.CFG that vote).")
@click.option(
    "--latency", default="0.1ms", show_default=True, callback=quantity(TIMES, "100us or 2ms"), metavar="TIME",
    help="Between two servers there and back, as ping measures it.",
)  # fmt: skip
@shared.named("--disk", "NAME", "none, cache, hdd or ssd.", completing.disks, "cache")
@click.option(
    "--forced-write", callback=quantity(TIMES, "0.4ms"), metavar="TIME",
    help="What forcing the log to this disk takes, if you have measured it.",
)  # fmt: skip
@click.option(
    "--size", default="1k", show_default=True, callback=quantity(SIZES, "1k or 512"), metavar="SIZE",
    help="Bytes of an operation.",
)  # fmt: skip
@click.option(
    "--outstanding",
    type=int,
    default=1000,
    show_default=True,
    help="Operations not yet delivered at any time, 1 to 1000.",
)
@click.option("--slow", type=int, default=0, show_default=True, help="Followers that are slow; the leader is not.")
@click.option(
    "--slow-by",
    default="10ms",
    show_default=True,
    callback=quantity(TIMES, "500us or 10ms"),
    metavar="TIME",
    help="What each message to a slow follower, or from it, takes besides.",
)
@click.option(
    "--quorum", type=click.Choice(QUORUMS), default=QUORUMS[0], show_default=True,
    help="Which servers have to acknowledge an operation: any majority, or all.",
)  # fmt: skip
@published("plan", "The answer as JSON.")
def plan(
    config: Path | None, servers: int | None, latency: int, disk: str, forced_write: int | None, size: int,
    outstanding: int, slow: int, slow_by: int, quorum: str,
) -> StatedResult:  # fmt: skip
    """Expected throughput and latency of an ensemble, by zab's own handlers in a world with time.

    Of ZOO.CFG the servers that vote are counted. A model, not a measurement: docs/performance.md says what it was held
    against and what it leaves out.
    """
    if config is not None and servers is not None:
        raise click.UsageError("--servers does not go with a configuration, which has its servers")
    ensemble = parse(config_text(config)) if config is not None else None
    if ensemble is not None:
        servers = len(ensemble.participants)
    servers = 3 if servers is None else servers
    request = PlanRequest(servers, latency, disk, forced_write, size, outstanding, slow, slow_by, quorum)
    setting, found = answer(request)
    content = {"request": request.as_json()} | as_dict(setting, found)
    said = parts(setting, found) if ensemble is None else [read_from(ensemble), *parts(setting, found)]
    return StatedResult(content=content, text=said, kind="plan")


def read_from(ensemble: Ensemble) -> str:
    """What was read of a configuration, and what of it the model leaves out."""
    said = f"configuration: {ensemble.kind}"
    if ensemble.observers:
        n = len(ensemble.observers)
        said += f"; {n} observer{'s' * (n != 1)} left out, to which the leader sends too"
    if ensemble.groups:
        said += "; groups and weights left out: counted are majorities of all that vote"
    return said


def ms(nanoseconds: float) -> str:
    """A time as a person reads it."""
    return f"{nanoseconds / 1e6:.3g} ms"


def rate(operations: float) -> str:
    """Operations a second, no finer than the model is."""
    digits = max(0, len(str(round(operations))) - 3)
    return f"{round(operations, -digits):,.0f}"


def crashes(count: int) -> str:
    return "1 crash" if count == 1 else f"{count or 'no'} crashes"


def followers(count: int) -> str:
    return "1 follower" if count == 1 else f"{count} followers"


def assumptions(setting: Setting) -> list[str]:
    """What the answer takes for granted."""
    disk = setting.disk
    return [
        f"{setting.servers} servers, one of which leads; all up, none behind, no reads, clients beside the leader",
        *([f"{followers(setting.slow)} slow, by {ms(setting.slow_by)} a message"] if setting.slow else ()),
        *(["an operation is delivered once all servers have it"] if setting.unanimous else ()),
        f"one interface of 1 Gb/s a server; {ms(setting.round_trip)} there and back, a message up to "
        f"{ms(setting.jitter)} more; a 20-byte packet head and TCP frames of 1,538 bytes that carry 1,448",
        f"disk {disk.name}: {disk.why}"
        + (f"; {ms(disk.force - disk.spread)} to {ms(disk.force + disk.spread)} a forced write" if disk.force else "")
        + ("; all that gathers meanwhile is forced together" if disk.force else ""),
        "processors, garbage collection, snapshots and what a disk's medium writes in the long run cost nothing",
    ]


def bound_said(setting: Setting, plan: CapacityPlan) -> str:
    """What bounds throughput, in a sentence."""
    if plan.bound == "interface":
        others = setting.servers - 1
        sent = "to its follower" if others == 1 else f"{others} times, once to each follower"
        return f"the leader's interface, which sends every operation {sent}: at most {rate(plan.limit)} a second"
    if plan.bound == "disk":
        return f"the disk, forced {ms(setting.disk.force)} at a time, {plan.batch:,.0f} operations together"
    return f"waiting: {setting.outstanding:,} outstanding at a time, and each takes {ms(plan.busy)}"


def parts(setting: Setting, plan: CapacityPlan) -> list[Part]:
    """For people."""
    low, middle, high = plan.throughput
    least, alone, most = plan.latency
    measured = f"{rate(middle)} operations of {setting.size:,} bytes a second ({rate(low)} to {rate(high)})"
    rows = [
        ("throughput", f"{measured}, {setting.outstanding:,} outstanding"),
        ("latency", f"{ms(alone)} one at a time ({ms(least)} to {ms(most)}); {ms(plan.busy)} at that throughput"),
        ("bound by", bound_said(setting, plan)),
    ]
    if plan.alike is not None:
        throughput, latency = plan.alike
        said = f"{rate(throughput)} a second, {ms(latency)} one at a time: {followers(setting.slow)} slow "
        makes = "makes" if setting.slow == 1 else "make"
        rows.append(("if alike", f"{said}{makes} {middle / throughput - 1:+.1%} and {alone / latency - 1:+.1%}"))
    if plan.more is None:
        rows.append(("one more", "is beyond what the model was held against"))
    else:
        throughput, latency = plan.more
        now, then = setting.survives, replace(setting, servers=setting.servers + 1).survives
        survives = f"survives {crashes(then)}, not {now}" if then > now else f"survives {crashes(now)}, as before"
        said = f"{rate(throughput)} a second ({throughput / middle - 1:+.0%}), {ms(latency)} one at a time "
        rows.append(("one more", f"{said}({latency / alone - 1:+.0%}); {survives}"))
    assumed = ["Assumed; this is a model and no measurement", *(f"- {line}" for line in assumptions(setting))]
    return [Table(rows), "\n".join(assumed)]


def as_dict(setting: Setting, plan: CapacityPlan) -> dict[str, Any]:
    """For machines: operations a second, nanoseconds, bytes."""
    said = plan.as_json()
    for name in ("throughput", "latency"):
        said[name] = dict(zip(("least", "mean", "most"), said[name], strict=True))
    if plan.more is not None:
        said["more"] = {
            "servers": setting.servers + 1,
            "throughput": plan.more[0],
            "latency": plan.more[1],
            "survives": replace(setting, servers=setting.servers + 1).survives,
        }
    if plan.alike is not None:
        said["alike"] = dict(zip(("throughput", "latency"), plan.alike, strict=True))
    requested = {
        "servers": setting.servers,
        "size": setting.size,
        "outstanding": setting.outstanding,
        "round_trip": setting.round_trip,
        "disk": setting.disk.name,
        "forced_write": setting.disk.force,
        "survives": setting.survives,
        "slow": setting.slow,
        "slow_by": setting.slow_by,
        "quorum": setting.quorum,
    }
    return {"requested": requested, **said, "assumptions": assumptions(setting)}
