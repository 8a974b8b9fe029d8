"""Report the estimate for an ensemble: throughput, latency, what bounds them, and the assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from checker.report.answer import StatedAnswer
from checker.report.result import Part, Table, plural, values

if TYPE_CHECKING:
    from zabspec.ensemble import Ensemble
    from zabspec.zookeeper.timed.planned import CapacityPlan, Recovery
    from zabspec.zookeeper.timed.setting import Setting

RECOVERING = "a recovery has no election, jitter or slow follower; all take part, and the transactions go both ways"
PARTS, OF_OTHERS = ("least", "mean", "most"), ("throughput", "latency")


@dataclass(frozen=True, repr=False)
class Planned(StatedAnswer):
    """The estimated throughput and latency of an ensemble.

    Attributes:
        setting: what was simulated.
        plan: throughput in operations a second, latency in nanoseconds, and what bounds them.
        recoveries: what a recovery costs that sends the whole history, or what is missing, as requested.
    """

    setting: Setting = field(kw_only=True)
    plan: CapacityPlan = field(kw_only=True)
    recoveries: Mapping[str, Recovery] = field(kw_only=True)
    kind: str = "plan"


def plan_result(
    request: Mapping[str, Any],
    setting: Setting,
    plan: CapacityPlan,
    recovered: Mapping[str, int],
    ensemble: Ensemble | None = None,
) -> Planned:
    """Return the result of a plan.

    Args:
        request: the one that it answers, as JSON.
        recovered: how many transactions a recovery sends, by option.
        ensemble: the configuration whose servers were counted; None if their number was given.
    """
    from zabspec.zookeeper.timed.planned import recovery

    recoveries = {name: recovery(setting, n) for name, n in recovered.items()}
    assumed = [*([] if ensemble is None else [read_from(ensemble)]), *assumptions(setting)]
    content = {"request": dict(request)} | as_dict(setting, plan, assumed) | {"recovery": values(recoveries)}
    costs = [
        (f"recovery, {name}", f"{cost.bytes / 1e6:,.4g} MB, {ms(cost.time)}: {recovered[name]:,} transactions")
        for name, cost in recoveries.items()
    ]
    said = parts(setting, plan, costs, assumed)
    low, middle, high = plan.throughput
    sentence = f"{rate(middle)} operations a second ({rate(low)} to {rate(high)}), {ms(plan.latency[1])} one at a time"
    return Planned(sentence, content=content, body=said, setting=setting, plan=plan, recoveries=recoveries)


def read_from(ensemble: Ensemble) -> str:
    """Return what was read from a configuration, and what of it the model leaves out."""
    said = f"configuration: {ensemble.kind}"
    if ensemble.observers:
        said += f"; {plural(len(ensemble.observers), 'observer')} ignored, though the leader sends to it"
    return said


def ms(nanoseconds: float) -> str:
    """Return a time as text, in milliseconds if it is below a second."""
    return f"{nanoseconds / 1e9:.3g} s" if nanoseconds >= 1e9 else f"{nanoseconds / 1e6:.3g} ms"


def rate(operations: float) -> str:
    """Return operations per second, rounded to the model's precision."""
    digits = max(0, len(str(round(operations))) - 3)
    return f"{round(operations, -digits):,.0f}"


def assumptions(setting: Setting) -> list[str]:
    """Return the assumptions of the estimate."""
    disk = setting.disk
    return [
        f"{setting.servers} servers, one leads; all up, none behind; {reads_said(setting)}; clients next to "
        + ("a follower, which forwards their writes" if setting.client else "the leader"),
        *(
            [f"{plural(setting.slow, 'follower')} slow, by {ms(setting.slow_by)} a message{beside(setting)}"]
            if setting.slow
            else ()
        ),
        *(["an operation is delivered once all servers have it"] if setting.unanimous else ()),
        f"one interface of 1 Gb/s a server; {ms(setting.round_trip)} there and back, a message up to "
        f"{ms(setting.jitter)} more; a 20-byte packet head and TCP frames of 1,538 bytes that carry 1,448",
        f"disk {disk.name}: {disk.why}"
        + (f"; {ms(disk.force - disk.spread)} to {ms(disk.force + disk.spread)} a forced write" if disk.force else "")
        + ("; all that gathers meanwhile is forced together" if disk.force else ""),
        "processors, garbage collection, snapshots and sustained writes to a disk's medium cost nothing",
    ]


def reads_said(setting: Setting) -> str:
    """Return what is read, in words."""
    if not setting.reads:
        return "no reads"
    return f"{setting.reads:.3g} reads a write, spread evenly over the servers, each answered by one with as many bytes"


def beside(setting: Setting) -> str:
    """Return whether the clients' follower is slow, in words."""
    if not setting.client:
        return ""
    return "; the clients' is" if setting.slow == setting.servers - 1 else "; the clients' is not"


def bound_said(setting: Setting, plan: CapacityPlan) -> str:
    """Return what bounds throughput, in a sentence."""
    if plan.bound == "interface":
        others = setting.servers - 1
        sent = "to its follower" if others == 1 else f"{others} times, once to each follower"
        what = "write" if setting.reads else "operation"
        return f"the leader's interface, which sends every {what} {sent}: at most {rate(plan.limit)} a second"
    if plan.bound == "disk":
        return f"the disk, forced {ms(setting.disk.force)} at a time, {plan.batch:,.0f} operations together"
    return f"waiting: {setting.outstanding:,} outstanding at a time, and each takes {ms(plan.busy)}"


def parts(setting: Setting, plan: CapacityPlan, costs: Sequence[tuple[str, str]], assumed: Sequence[str]) -> list[Part]:
    """Return the result for people, with the rows of recoveries."""
    low, middle, high = plan.throughput
    least, alone, most = plan.latency
    measured = f"{rate(middle)} operations of {setting.size:,} bytes a second ({rate(low)} to {rate(high)})"
    once = f"{ms(alone)} one at a time ({ms(least)} to {ms(most)})"
    writes = f" of them {rate(middle / (1 + setting.reads))} writes," if setting.reads else ""
    rows = [
        ("throughput", f"{measured},{writes} {setting.outstanding:,} outstanding"),
        ("write latency" if setting.reads else "latency", f"{once}; {ms(plan.busy)} at that throughput"),
        ("bound by", bound_said(setting, plan)),
    ]
    if plan.alike is not None:
        throughput, latency = plan.alike
        said = f"{rate(throughput)} a second, {ms(latency)} one at a time: {plural(setting.slow, 'follower')} slow "
        makes = "makes" if setting.slow == 1 else "make"
        rows.append(("if alike", f"{said}{makes} {middle / throughput - 1:+.1%} and {alone / latency - 1:+.1%}"))
    if plan.more is None:
        rows.append(("one more", "is beyond what the model was compared with"))
    else:
        throughput, latency = plan.more
        now, then = setting.survives, replace(setting, servers=setting.servers + 1).survives
        kept = f"{plural(now, 'crash') if now else 'no crash'}, as before"
        survives = f"survives {plural(then, 'crash')}, not {now}" if then > now else f"survives {kept}"
        said = f"{rate(throughput)} a second ({throughput / middle - 1:+.0%}), {ms(latency)} one at a time "
        rows.append(("one more", f"{said}({latency / alone - 1:+.0%}); {survives}"))
    rows += costs
    lines = [*assumed, *([RECOVERING] if costs else ())]
    return [
        Table(rows),
        "\n".join(["Assumptions; this is a model, not a measurement", *(f"- {line}" for line in lines)]),
    ]


def as_dict(setting: Setting, plan: CapacityPlan, assumed: Sequence[str]) -> dict[str, Any]:
    """Return the plan as JSON values; of `more` and `alike`, what the text says of them."""
    said = values(plan)
    for name, parts_of in (("throughput", PARTS), ("latency", PARTS), ("more", OF_OTHERS), ("alike", OF_OTHERS)):
        said[name] = said[name] and dict(zip(parts_of, said[name], strict=True))
    if said["more"]:
        said["more"]["survives"] = replace(setting, servers=setting.servers + 1).survives
    requested = values(setting) | {"survives": setting.survives}
    return {"requested": requested, **said, "assumptions": list(assumed)}
