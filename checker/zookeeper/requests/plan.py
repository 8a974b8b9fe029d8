"""Estimate the throughput and the latency of an ensemble by running the handlers of zab in a world with time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from checker.errors import RequestError
from checker.requests.base.quorum_system import zoo_cfg
from checker.requests.base.request import File, Option, Request, function
from checker.requests.base.watch import QUIET, Watch
from zabspec.typed import near

if TYPE_CHECKING:
    from checker.zookeeper.report.planned import Planned
    from zabspec.ensemble import Ensemble
    from zabspec.zookeeper.timed.setting import Disk, Setting

    Quantity = int | str
else:
    Quantity = int

# The values of units of times and sizes, in nanoseconds and bytes; and examples.
TIMES: Mapping[str, int] = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
SIZES: Mapping[str, int] = {
    "": 1, "b": 1, "k": 1024, "kb": 1024, "kib": 1024, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
}  # fmt: skip


def amount(text: str, units: Mapping[str, int], name: str, example: str) -> int:
    """Return an amount from a number with its unit.

    Args:
        units: the value of each unit.
        name: the option, as messages name it.
        example: of a valid value.

    Raises:
        RequestError: it is not such a number.
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?) ?([a-z]*)", text.strip().lower().replace("µ", "u"), re.ASCII)
    if found is None or found[2] not in units:
        raise RequestError(f"{name} must be like {example}, not {text!r}")
    return round(float(found[1]) * units[found[2]])


def quantity(flag: str, units: Mapping[str, int], example: str) -> Callable[[Any], Any]:
    """Return the conversion of a number with its unit; a number without one is returned as it is."""
    return lambda given: amount(given, units, flag, example) if isinstance(given, str) else given


def time_option(help: str, flag: str, example: str, usual: str = "") -> Option:
    """Return the option of a field that is a time."""
    return Option(help, metavar="TIME", usual=usual, reads=quantity(flag, TIMES, example))


@dataclass(frozen=True)
class PlanRequest(Request):
    """Estimate throughput and latency of an ensemble by running zab's handlers in a world with time.

    The servers of ZOO.CFG that vote are counted. The result is of a model, not a measurement:
    docs/explanation/performance.md says what it was compared with, and what it leaves out.
    """

    kind: ClassVar[str] = "plan"
    group: ClassVar[str] = "Servers of ZooKeeper"

    servers: Annotated[int | None, Option("Number of servers, 2 to 13 (3, or the voting servers of ZOO.CFG).")] = None
    config: Annotated[File | None, Option(place="read", argument=True, metavar="[ZOO.CFG]")] = None
    latency: Annotated[
        Quantity,
        time_option("Round-trip time between two servers, as ping measures it.", "--latency", "100us or 2ms", "0.1ms"),
    ] = 100_000
    disk: Annotated[
        str,
        Option("Kind of disk: none, cache, hdd or ssd.", metavar="NAME", complete="zookeeper/disks"),
    ] = "cache"
    forced_write: Annotated[
        Quantity | None,
        time_option("Time to force the log to disk, if you have measured it.", "--forced-write", "0.4ms"),
    ] = None
    size: Annotated[
        Quantity,
        Option(
            "Size of an operation in bytes.", metavar="SIZE", usual="1k", reads=quantity("--size", SIZES, "1k or 512")
        ),
    ] = 1024
    outstanding: Annotated[int, Option("Operations outstanding at any time, 1 to 1000.")] = 1000
    slow: Annotated[int, Option("Number of slow followers; the leader is not slow.")] = 0
    slow_by: Annotated[
        Quantity,
        time_option("Extra time of each message to or from a slow follower.", "--slow-by", "500us or 10ms", "10ms"),
    ] = 10_000_000
    quorum: Annotated[
        Literal["majority", "all"],
        Option("Servers that acknowledge an operation before it is delivered: any majority, or all."),
    ] = "majority"
    client: Annotated[
        Literal["leader", "follower"], Option("Server beside which the clients are: a follower forwards their writes.")
    ] = "leader"
    reads: Annotated[
        str, Option("Reads for writes; a read is answered by the server that it comes to.", metavar="READS:WRITES")
    ] = ""
    history: Annotated[
        int | None, Option("Transactions in the log: report what a recovery costs that sends it whole.", metavar="N")
    ] = None
    missing: Annotated[
        int | None, Option("With --history: report a recovery, too, that sends this many instead.", metavar="N")
    ] = None

    def validate(self) -> None:
        if self.config is not None and self.servers is not None:
            raise RequestError("--servers does not go with a configuration, which lists its servers")
        if self.missing is not None and self.missing > (-1 if self.history is None else self.history):
            raise RequestError("--missing must be at most --history, the transactions in the log")

    def ensemble(self) -> Ensemble | None:
        """Return the ensemble of the configuration, or None if the request names none.

        Raises:
            RequestError: the configuration cannot be read, or its quorums are not the majorities that are simulated.
        """
        if self.config is None:
            return None
        found = zoo_cfg(Path(self.config)).voters
        if found.groups or found.doubtful:
            instead = f"a plan counts majorities; --servers {len(found.participants)} plans so many equal servers"
            raise RequestError(f"{self.config} has other quorums ({found.kind}): {instead}")
        return found

    def answer(self, watch: Watch = QUIET) -> Planned:
        from checker.zookeeper.report.planned import plan_result
        from zabspec.zookeeper.timed.planned import plan

        ensemble = self.ensemble()
        counted = (3 if self.servers is None else self.servers) if ensemble is None else len(ensemble.participants)
        setting = replace(self, config=None, servers=counted).setting()
        recovered = {name: n for name in ("history", "missing") if (n := getattr(self, name)) is not None}
        return plan_result(self.as_json(), setting, plan(setting), recovered, ensemble)

    def setting(self) -> Setting:
        """Return the setting to simulate.

        Raises:
            RequestError: there is no such disk, or a value is outside what the model was validated for.
        """
        from zabspec.zookeeper.timed.planned import check_held
        from zabspec.zookeeper.timed.setting import Setting

        servers, size, latency = int(self.servers or 0), int(self.size), int(self.latency)
        disk = self.forced_disk()
        for name in ("servers", "latency", "size", "outstanding", "slow_by", "history", "missing"):
            if getattr(self, name) is not None:
                check_held(f"--{name.replace('_', '-')}", getattr(self, name))
        if not 0 <= self.slow < servers:
            raise RequestError(f"--slow must be 0 to {servers - 1}, not {self.slow}: the leader is not slow")
        return Setting(
            servers,
            disk,
            size=size,
            outstanding=self.outstanding,
            round_trip=latency,
            jitter=latency // 20,
            slow=self.slow,
            slow_by=int(self.slow_by) if self.slow else 0,
            unanimous=self.quorum == "all",
            client=int(self.client == "follower"),
            reads=self.reads_a_write(),
        )

    def reads_a_write(self) -> float:
        """Return the reads for each write.

        Raises:
            RequestError: they are no such ratio.
        """
        if not self.reads:
            return 0.0
        found = re.fullmatch(r"(\d{1,4}):(\d{1,4})", self.reads.strip(), re.ASCII)
        if found is None or int(found[2]) == 0 or int(found[1]) > 1000 * int(found[2]):
            raise RequestError(f"--reads must be like 2:1, at most 1000:1, not {self.reads!r}")
        return int(found[1]) / int(found[2])

    def forced_disk(self) -> Disk:
        """Return the disk, with the forced writes of the request.

        Raises:
            RequestError: there is no such disk, or it forces no writes.
            ConfigError: the model was not validated for such forced writes.
        """
        from zabspec.zookeeper.timed.planned import check_held
        from zabspec.zookeeper.timed.setting import DISKS

        name, force = self.disk, None if self.forced_write is None else int(self.forced_write)
        if name not in DISKS:
            hint = near(name, DISKS) or f"; there are {', '.join(DISKS)}"
            raise RequestError(f"there is no disk {name!r}{hint}")
        disk = DISKS[name]
        if force is None:
            return disk
        if not disk.force:
            raise RequestError("--forced-write does not go with --disk none, which forces nothing")
        check_held("--forced-write", force)
        return replace(disk, force=force, spread=force // 4, why=f"{force / 1e6:.3g} ms as given")


plan = function(PlanRequest)
