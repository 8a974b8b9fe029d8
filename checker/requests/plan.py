"""Estimate the throughput and the latency of an ensemble by running the handlers of zab in a world with time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.request import Request, near

if TYPE_CHECKING:
    from zabspec.timed.planned import CapacityPlan
    from zabspec.timed.setting import Disk, Setting

QUORUMS = ("majority", "all")


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


@dataclass(frozen=True)
class PlanRequest(Request):
    """An ensemble, its network and its load.

    Attributes:
        servers: of the ensemble.
        latency: nanoseconds of a round trip between two servers.
        disk: one of `zabspec.timed.setting.DISKS`.
        forced_write: nanoseconds that forcing the log takes; None for the disk's value.
        size: bytes of an operation.
        outstanding: operations not yet delivered at any time.
        slow: the number of slow followers, which are the last ones.
        slow_by: additional nanoseconds of each message to or from a slow follower.
        quorum: `majority`, or `all`: the only quorum is all servers.
    """

    kind: ClassVar[str] = "plan"

    servers: int = 3
    latency: int = 100_000
    disk: str = "cache"
    forced_write: int | None = None
    size: int = 1024
    outstanding: int = 1000
    slow: int = 0
    slow_by: int = 10_000_000
    quorum: str = "majority"

    def setting(self) -> Setting:
        """Return the setting to simulate.

        Raises:
            RequestError: there is no such disk, or a value is outside what the model was validated for.
        """
        from zabspec.authoring.declaration import ConfigError
        from zabspec.timed.planned import check_held
        from zabspec.timed.setting import Setting

        try:
            disk = self.forced_disk()
            for name in ("servers", "latency", "size", "outstanding", "slow_by"):
                check_held(f"--{name.replace('_', '-')}", getattr(self, name))
        except ConfigError as problem:
            raise RequestError(str(problem)) from None
        if not 0 <= self.slow < self.servers:
            raise RequestError(f"--slow must be 0 to {self.servers - 1}, not {self.slow}: the leader is not slow")
        if self.quorum not in QUORUMS:
            raise RequestError(f"--quorum must be {' or '.join(QUORUMS)}, not {self.quorum!r}")
        return Setting(
            self.servers,
            disk,
            size=self.size,
            outstanding=self.outstanding,
            round_trip=self.latency,
            jitter=self.latency // 20,
            slow=self.slow,
            slow_by=self.slow_by if self.slow else 0,
            unanimous=self.quorum == "all",
        )

    def forced_disk(self) -> Disk:
        """Return the disk, with the forced writes of the request.

        Raises:
            RequestError: there is no such disk, or it forces no writes.
            ConfigError: the model was not validated for such forced writes.
        """
        from zabspec.timed.planned import check_held
        from zabspec.timed.setting import DISKS

        name, force = self.disk, self.forced_write
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


def answer(request: PlanRequest) -> tuple[Setting, CapacityPlan]:
    """Simulate the ensemble; return the setting, and the estimate.

    Raises:
        RequestError: the request is outside what the model was validated for.
    """
    from zabspec.timed.planned import plan

    setting = request.setting()
    return setting, plan(setting)
