"""The cost of an exploration on Spark: a model with measured parameters, and its forecasts.

`benchmarks/distributed.py --record` measures the parameters on one configuration, in one run of both engines, and
writes them to `costs.json`. The model is linear: a cost for a state, a level that is a job, a task, and a start. It
does not know how many states a model has. A forecast is made for a number of states; if none is known, for 10^7, 10^8
and so on.

A forecast assumes that states and their successors are as large, and as many, as those of the measured configuration;
that cores are as fast; that tasks share the work evenly; that as many levels are jobs; and that the largest level has
the same part of all states. After a run, `held` compares the forecast for its number of states with the measurements.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checker.distributed.usage import Usage

RECORDED = Path(__file__).parent / "costs.json"
HALF = 8  # bytes of a fingerprint of 64 bits
LARGE = 10_000_000  # states from which on an exploration takes long


class NotWorth(Exception):
    """A cluster is not faster than this machine alone; the message is a sentence."""


@dataclass(frozen=True)
class Costs:
    """Parameters, as measured on one configuration with one machine. CPU is in seconds of one core, sizes in bytes.

    Attributes:
        question, machine, day: what was explored where, and when, in words.
        bits: of a fingerprint.
        states, levels: of the configuration; `jobs`: of its levels, those that were jobs; `parts`: of each.
        cores: of the machine.
        local_cpu: of the local engine, for each state: the process's, starts not included.
        cpu: of Spark, for each state of large levels: of all processes that it takes while exploring (Java with driver
            and executors, Python's tasks, Python's driver), less what each level and task takes.
        counted: the part of this that a run counts by itself on any cluster (`Usage.cpu`).
        level_seconds, level_cpu: for each level that is a job, however small, with one task a stage; `level_counted`:
            the part of the CPU that a run counts by itself.
        task_cpu: for each further task.
        first_cpu: that the first jobs take beyond that, in which Java compiles and Python's processes begin.
        start_seconds, start_cpu: to start a session of a local master.
        sent: fingerprints that leave a task, for each state; `successors`: the most that this can be.
        message: bytes that Spark's shuffle takes for each of them, answers included.
        written: bytes written to the checkpoint's storage, for each state.
        kept: bytes stored there at the end, for each state.
        packed, candidates: bytes of a packed state, and of what tasks have found, for each new state of a level.
        largest: the part of all states that the largest level has.
        base_memory: bytes of a task's process without states.
        share_memory: further bytes, for each state of a task's share of the largest level. Pages of files that the
            process reads by mapping them are among these.
    """

    question: str
    machine: str
    day: str
    bits: int
    states: int
    levels: int
    jobs: int
    parts: int
    cores: int
    local_cpu: float
    cpu: float
    counted: float
    level_seconds: float
    level_cpu: float
    level_counted: float
    task_cpu: float
    first_cpu: float
    start_seconds: float
    start_cpu: float
    sent: float
    successors: float
    message: float
    written: float
    kept: float
    packed: float
    candidates: float
    largest: float
    base_memory: int
    share_memory: float

    @property
    def ratio(self) -> float:
        """Spark's CPU time for a state, as a multiple of the local engine's."""
        return self.cpu / self.local_cpu

    def cores_worth(self, here: int) -> int:
        """Return the number of cores from which Spark is faster than a machine of `here` cores, given enough states."""
        return math.floor(self.ratio * here) + 1

    def states_worth(self, cores: int, here: int) -> int | None:
        """Return the number of states from which Spark is faster, its start included; None if it never is."""
        gain = self.local_cpu / here - self.cpu / cores
        return math.ceil((self.start_seconds + self.jobs * self.level_seconds) / gain) if gain > 0 else None

    def level_worth(self, cores: int) -> float:
        """Return the seconds up to which the driver finishes a level sooner than a job does."""
        return self.level_seconds / (1 - 1 / max(2, cores))

    def why_not_worth(self, cores: int, here: int, states: int | None) -> str:
        """Return why a cluster is not faster than a machine alone; empty if it is.

        Args:
            cores: of the cluster; `here`: of the machine. They are assumed to be equally fast.
            states: the maximum number; None if it is unbounded.
        """
        worth = self.states_worth(cores, here)
        if worth is None:
            return f"the cluster has {cores} cores, and {self.alone(here)}"
        if states is not None and states < worth:
            return (
                f"at most {states:,} states, and {cores} cores of a cluster are only worth starting from {worth:,} on"
            )
        return ""

    def why_worth(self, cores: int, here: int) -> str:
        """Return why a cluster is chosen, if it is."""
        worth = self.states_worth(cores, here)
        return f"the cluster, with {cores} cores, is faster from {worth or 0:,} states on; {self.alone(here)}"

    def alone(self, here: int) -> str:
        """Return the break-even as a part of a sentence."""
        return (
            f"below {self.cores_worth(here)} cores this machine, which has {here}, is faster: Spark takes "
            f"{self.ratio:.1f} times the CPU for a state"
        )

    def forecast(
        self, states: int, cores: int, parts: int, jobs: int | None = None, largest: int | None = None
    ) -> Forecast:
        """Forecast the resources for a number of states.

        Args:
            cores: of the cluster, as fast as those that were measured.
            parts: of each level.
            jobs: levels that are jobs; None for as many as were measured.
            largest: states of the largest level; None for the measured part of all states.
        """
        jobs = self.jobs if jobs is None else jobs
        largest = math.ceil(self.largest * states) if largest is None else largest
        work = 3 * (parts - 1) * jobs * self.task_cpu + self.cpu * states
        # with more parts, more of the successors leave their task; the measurement was of few
        sent = self.sent if parts <= self.parts else self.successors
        return Forecast(
            states=states,
            cores=cores,
            cpu=self.first_cpu + jobs * self.level_cpu + work,
            counted=jobs * self.level_counted + self.counted * states,
            seconds=jobs * self.level_seconds + (self.first_cpu + work) / cores,  # the former with its CPU
            shuffle=round(sent * self.message * states),
            written=round(self.written * states),
            disk=round(self.kept * states + (self.packed + self.candidates) * largest),
            memory=round(self.base_memory + self.share_memory * largest / parts),
        )

    def as_json(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Forecast:
    """The forecast resources for a number of states on a number of cores.

    Attributes:
        cpu: seconds, of all processes while they explore; `counted`: of these, those that a run counts by itself.
        seconds: to explore, without the session's start.
        shuffle: bytes through Spark's shuffle.
        written: bytes written to the checkpoint's storage.
        disk: the maximum number of bytes stored there at any time, of one copy.
        memory: the maximum bytes of the largest process of a task; it grows more slowly than a task's share.
    """

    states: int
    cores: int
    cpu: float
    counted: float
    seconds: float
    shuffle: int
    written: int
    disk: int
    memory: int

    @property
    def text(self) -> str:
        """The forecast as a part of a sentence."""
        return (
            f"{self.states:,} states take {self.cpu:,.0f} CPU-seconds, {self.seconds:,.0f} s on {self.cores} cores, "
            f"{gigabytes(self.shuffle)} of shuffle, and at most {gigabytes(self.disk)} on the checkpoint's storage"
        )

    def as_json(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Held:
    """A quantity that was forecast, and its measured value."""

    quantity: str
    unit: str
    forecast: float
    measured: float

    @property
    def percent(self) -> float:
        """The measured value relative to the forecast, in percent: positive if it is more, negative if less."""
        return 100 * (self.measured / self.forecast - 1)

    @property
    def text(self) -> str:
        """The comparison as a part of a sentence."""
        said = {"s": "{:,.0f} s", "CPU-s": "{:,.0f} CPU-s"}.get(self.unit, "")
        figure = said.format(self.forecast) if said else gigabytes(self.forecast)
        return f"{self.quantity} {figure}, came {self.percent:+.0f} %"

    def as_json(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"percent": self.percent}


def held(forecast: Forecast, usage: Usage, memory: int) -> list[Held]:
    """Compare a forecast for the states that the jobs found with the measured values.

    Values that Spark could not report are left out; if no level was a job, the result is empty.

    Args:
        memory: bytes of the largest process of a task.
    """
    if not usage.jobs:
        return []
    out = [Held("seconds", "s", forecast.seconds, usage.seconds)]
    if not usage.unmetered:
        out.append(Held("cpu", "CPU-s", forecast.counted, usage.cpu))
        out.append(Held("shuffle", "bytes", forecast.shuffle, usage.shuffle))
    out.append(Held("written", "bytes", forecast.written, usage.written))
    out.append(Held("memory at most", "bytes", forecast.memory, memory))
    return out


@cache
def recorded(bits: int = 64) -> Costs:
    """Return the parameters that were measured with fingerprints of `bits` bits."""
    return Costs(**json.loads(RECORDED.read_text())[str(bits)])


def gigabytes(size: float) -> str:
    """Return a number of bytes as text in GB or MB."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"
