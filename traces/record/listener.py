"""Listen to a simulator in CPython: which handlers run, and what they report to their world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traces.record.notes import Notes
from traces.record.trace import Transmission
from traces.record.worlds import HANDLERS, watched_as
from traces.replay.abstraction import TraceCluster
from zabspec.language.python.reference import MessageView, StateView

Call = tuple[str, tuple[int, ...]]  # a handler and the processes it was given


class Listener:
    """Records what a simulator in the CPython world does: which handlers run, and what they report.

    Attributes:
        notes: the events that the handlers reported.
        calls: the handlers that ran, but for those called by others.
        received: the message that a handler was given last.
        crashed_inside: whether a handler crashed at one of its durable points.
    """

    def __init__(self, names: dict[str, Any], cluster: TraceCluster) -> None:
        self.names = names
        self.watched = watched_as(cluster.parts_of.world)
        self.notes = Notes()
        self.clear()
        self.process = -1  # the process whose handler runs
        self.notes.listen(names, cluster.parts.txn, lambda _: self.process)
        self.notes.listen_to(names, cluster.parts_of.text)
        for name in HANDLERS:
            names[name] = self.handler(name, names[name])
        names["durable"] = self.durable(names["durable"])
        self.watched.listen(self.notes, names)

    def clear(self) -> None:
        """Start recording afresh."""
        self.notes.clear()
        self.calls: list[Call] = []
        self.received: Transmission | None = None
        self.crashed_inside: bool = False

    def handler(self, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a handler, so that its calls are recorded."""

        def handle(s: StateView, p: int, *rest: Any) -> Any:
            if self.process >= 0:
                return inner(s, p, *rest)
            self.process = p
            self.begins(name, p, rest)
            try:
                return inner(s, p, *rest)
            finally:
                self.process = -1

        return handle

    def begins(self, name: str, p: int, rest: tuple[Any, ...]) -> None:
        """Record that a handler begins, with its arguments and its message."""
        self.calls.append((name, (int(p), *(int(x) for x in rest if isinstance(x, int)))))
        for m in rest:
            if isinstance(m, MessageView):
                self.received = self.watched.transmission(m)

    def durable(self, inner: Callable[..., bool]) -> Callable[..., bool]:
        """Wrap `durable`, to record a crash within a step."""

        def durable(s: StateView, point: int) -> bool:
            crashes = inner(s, point)
            self.crashed_inside = self.crashed_inside or crashes
            return crashes

        return durable
