"""What an exploration on Spark has used, as figures that add up."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass
from typing import Any

__all__ = ["Usage"]


@dataclass(frozen=True)
class Usage:
    """What the levels that were jobs have used. Levels that the driver expands by itself are not in it.

    Attributes:
        jobs: how many levels were jobs.
        unmetered: of these, how many Spark could not be asked about. If there are any, what is Spark's is too little.
        tasks: all attempts of all their tasks. Spark's.
        states: that they found new.
        sent: fingerprints that left a task for an owner.
        seconds: from the start of each job to its end.
        python_cpu: seconds, of the Python processes of tasks while they expand, absorb and keep. Starting them, and
            unpickling what an owner is sent, is not in it. Of each task it is one attempt, the one that counted.
        java_cpu: seconds, of the executors' threads that run tasks, all attempts. Java's compiler, its garbage
            collection and what serves blocks to other executors is not in it. Spark's.
        shuffle: bytes that tasks wrote for tasks of the next stage, compressed. What both run on the same machine does
            not cross the network. Spark's.
        spilled: bytes that Spark put on disk because memory was full. Spark's.
        shared_out: bytes of fingerprints that owners put on disk because they were beyond their memory.
        written: bytes of files on the checkpoint's storage: what was found, states, predecessors, runs. Of each task it
            is one attempt's.
        candidates: of these, what was found, which goes when the level is committed.
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
        """Return it as JSON; what Spark could not be asked about is null."""
        out: dict[str, Any] = asdict(self)
        if out.pop("unmetered"):
            out |= dict.fromkeys(("tasks", "java_cpu", "shuffle", "spilled"))
        return out
