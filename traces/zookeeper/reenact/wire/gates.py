"""Hold threads of a server where the shim (shim.c) asks: a thread continues only when it is let."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from traces.zookeeper.reenact.wire.links import Recording

# Operations that are held separately: of the main thread a snapshot, the log, currentEpoch, and what it sends; the sync
# thread, one that has outlived its term, and the commit thread, each before every transaction; the thread of a periodic
# snapshot before it opens its file.
SNAPSHOT, LOG, EPOCH, ACKNOWLEDGE, SYNC, STALE, COMMIT, WRITES = (
    "snapshot", "log", "currentEpoch", "send", "sync thread", "sync thread of an earlier term", "commit thread",
    "file of a periodic snapshot",
)  # fmt: skip
EVERY = (SNAPSHOT, LOG, EPOCH, ACKNOWLEDGE, SYNC, STALE, COMMIT, WRITES)
# The thread of a periodic snapshot before it does anything: held from its start, until the model's begins, if it does.
# One that has not begun in its term is held to the end: the model drops it.
BEGINS, OVER = "thread of a periodic snapshot", "thread of a periodic snapshot of an earlier term"
# A commit thread of 3.4 that had taken a transaction when its term ended: held to the end, as the model drops what is
# committed and not applied (CommitProcessor.shutdown does not wait for it, and it would apply that one all the same).
LATE = "commit thread of an earlier term"


class Answered(Protocol):
    """What an answer is written to: a socket."""

    def sendall(self, data: bytes, /) -> None: ...


@dataclass(eq=False)
class Ask:
    """A thread of a server that asks whether it may go on.

    Attributes:
        thread: its number.
        kind: main, sync, commit or snapshot.
        what: begin, open, pad, write, cut, force, send, append, commit.
        name: the name of the file; for append and commit the zxid.
    """

    thread: int
    kind: str
    what: str
    name: str
    answer: Answered

    @property
    def zxid(self) -> int:
        """Return the zxid of the transaction that it asks about; -1 if there is none."""
        return int(self.name, 16) if self.what in ("append", "commit") else -1

    def go(self, answer: bytes = b"g") -> None:
        with contextlib.suppress(OSError):
            self.answer.sendall(answer)


class Gates:
    """The gates of one server, in all its lives; all are open until they are shut.

    Attributes:
        admitted: a gate that is shut, and the zxid that passes it all the same.
        fails: the sync thread is told that the disk has no room when it asks for some: a record that has its room
            already is only buffered, and a write that fails is made again later.
        full: the main thread is told that the disk has no room when it begins acceptedEpoch or cuts the log.

    Args:
        path: of the socket that its threads ask over.
        place: what the server is called in the recording.
    """

    def __init__(self, path: Path, place: str, recording: Recording) -> None:
        self.path, self.place, self.recording = path, place, recording
        self.shut: set[str] = {LATE, BEGINS, OVER}
        self.held: list[Ask] = []
        self.stale, self.late, self.over, self.threads = (set[int]() for _ in range(4))
        self.admitted = ("", -1)
        self.fails = self.full = False
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True, name="gates").start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                end, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(end,), daemon=True, name="gate").start()

    def serve(self, end: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), end, end.makefile("rb") as lines:
            for line in lines:
                number, kind, what, name = line.decode(errors="replace").split(maxsplit=3)
                self.asked(Ask(int(number), kind, what, name.strip(), end))

    def gate_of(self, a: Ask) -> str:
        """Return the gate at which a thread waits; empty for none."""
        if a.kind == "main":
            if a.what == "send":
                return ACKNOWLEDGE
            if a.name.startswith("log."):
                return "" if a.what in ("force", "cut") else LOG
            if a.name.startswith("snapshot."):
                return SNAPSHOT
            return EPOCH if a.name.startswith("currentEpoch") else ""
        if a.kind == "snapshot":
            return WRITES if a.what == "open" else OVER if a.thread in self.over else BEGINS
        if a.what == "commit":
            return LATE if a.thread in self.late else COMMIT
        if a.what == "append":
            return STALE if a.thread in self.stale else SYNC
        return ""

    def asked(self, a: Ask) -> None:
        with self.recording.changed:
            if a.kind == "sync":
                self.threads.add(a.thread)
            gate = self.gate_of(a)
            held = gate in self.shut and self.admitted != (gate, a.zxid)
            fails = self.fails and a.kind == "sync" and a.what in ("open", "pad")
            fails |= self.full and a.kind == "main" and (a.what == "cut" or a.name.startswith("acceptedEpoch"))
            if held:
                self.held.append(a)
            if held or fails or a.what == "force":
                more = " and is held" if held else ", which fails" if fails else ""
                self.recording.note(self.place, f"{a.kind} thread: {a.what} {a.name.strip('-')}{more}")
            if not held:
                a.go(b"e" if fails else b"g")

    def close(self, *names: str) -> None:
        with self.recording.changed:
            self.shut |= set(names)

    def open(self, *names: str) -> None:
        """Open gates, so that the threads waiting there continue."""
        with self.recording.changed:
            self.shut -= set(names)
            going = [a for a in self.held if self.gate_of(a) in names]
            self.held = [a for a in self.held if a not in going]
        for a in going:
            a.go()

    def admit(self, name: str, zxid: int) -> None:
        """Let one transaction pass a gate that stays shut, now or when its thread comes to it."""
        with self.recording.changed:
            self.admitted = (name, zxid)
            going = [a for a in self.held if (self.gate_of(a), a.zxid) == self.admitted]
            self.held = [a for a in self.held if a not in going]
        for a in going:
            a.go()

    def admit_none(self) -> None:
        with self.recording.changed:
            self.admitted = ("", -1)

    def waiting(self, name: str) -> list[Ask]:
        with self.recording.changed:
            return [a for a in self.held if self.gate_of(a) == name]

    def outlive(self) -> None:
        """Assign the current sync threads to an earlier term."""
        with self.recording.changed:
            self.stale |= self.threads

    def retire(self) -> None:
        """Keep the waiting commit thread where it is: it has its transaction already, and its term is over."""
        with self.recording.changed:
            self.late |= {a.thread for a in self.held if self.gate_of(a) == COMMIT}

    def begin_one(self) -> None:
        """Let the last thread of a periodic snapshot begin."""
        with self.recording.changed:
            last = [a for a in self.held if self.gate_of(a) == BEGINS][-1]
            self.held.remove(last)
        last.go()

    def begin_none(self) -> None:
        """Keep threads of periodic snapshots that have not begun where they are: their term is over."""
        with self.recording.changed:
            self.over |= {a.thread for a in self.held if self.gate_of(a) == BEGINS}

    def died(self) -> None:
        """Reset all gates after the process has ended."""
        with self.recording.changed:
            self.held.clear()
            for threads in (self.stale, self.late, self.over, self.threads):
                threads.clear()
            self.fails = self.full = False

    def end(self) -> None:
        self.open(*EVERY, LATE, BEGINS, OVER)
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
