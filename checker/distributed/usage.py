"""The resources that an exploration on Spark has used, as figures that add up."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass
from typing import Any


@dataclass(frozen=True)
class Usage:
    """The resources used by the levels that were jobs. Levels that the driver expands by itself are not included.

    Attributes:
        jobs: the number of levels that were jobs.
        unmetered: of these, the number that Spark could not report on. If there are any, Spark's figures are too low.
        tasks: all attempts of all their tasks. Spark's.
        states: the new states that they found.
        sent: fingerprints that left a task for an owner.
        seconds: from the start of each job to its end.
        python_cpu: seconds, of the Python processes of tasks while they expand, absorb and keep. Starting them, and
            unpickling what an owner receives, is not included. For each task one attempt counts, the successful one.
        java_cpu: seconds, of the executors' threads that run tasks, all attempts. Java's compiler, its garbage
            collection and the threads that serve blocks to other executors are not included. Spark's.
        shuffle: bytes that tasks wrote for tasks of the next stage, compressed. What both run on the same machine does
            not cross the network. Spark's.
        spilled: bytes that Spark wrote to disk because memory was full. Spark's.
        shared_out: bytes of fingerprints that owners wrote to disk because they exceeded their memory.
        written: bytes of files on the checkpoint's storage: candidates, states, predecessors, runs. For each task one
            attempt counts.
        candidates: of these, the files of candidates, which are removed when the level is committed.
    """

    jobs: int = 0
    unmetered: int = 0
    tasks: int = 0
    states: int = 0
    sent: int = 0
    seconds: float = 0.0
    python_cpu: float = 0.0
    java_cpu: float = 0.0
    shuffle: int = 0
    spilled: int = 0
    shared_out: int = 0
    written: int = 0
    candidates: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def cpu(self) -> float:
        """CPU seconds of tasks, as far as a run can count them on any cluster."""
        return self.python_cpu + self.java_cpu

    def as_json(self) -> dict[str, Any]:
        """Return the usage as JSON; what Spark could not report is null."""
        out: dict[str, Any] = asdict(self)
        if out.pop("unmetered"):
            out |= dict.fromkeys(("tasks", "java_cpu", "shuffle", "spilled"))
        return out
