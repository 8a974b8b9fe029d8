"""Runs of zab in the CPython world, one step at a time: what the tests of the paper take."""

from __future__ import annotations

import sys
from linecache import getline
from pathlib import Path
from typing import Any, NamedTuple

from tests.failing import shown
from tests.models import model
from traces import Trace, state_json
from traces.record.runner import Runner
from zabspec.language import StateView
from zabspec.language.python.reference import MessageView, RecordValue
from zabspec.model import Configuration
from zabspec.worlds import connections as c
from zabspec.worlds.steps import NUMBERED


def zxid(t: RecordValue) -> str:
    return f"{t.epoch}.{t.counter}"


def text(m: MessageView) -> str:
    """A message as text: its kind, its epoch, and the zxids it carries."""
    fields = m.union.named(m.name).fields
    out = [str(getattr(m, name)) for name in ("epoch", "current_epoch") if name in fields]
    if "txn" in fields:
        out.append(zxid(m.txn))
    if "history" in fields:
        out.append(f"[{', '.join(zxid(t) for t in m.history)}]")
    return f"{m.name}({', '.join(out)})"


class Taken(NamedTuple):
    """A step that a run took: the state before it, and which line of a test took it."""

    before: bytes
    word: int
    file: str
    line: int


class Run:
    """A run in the CPython world, one step at a time; every step must be possible."""

    def __init__(self, **configuration: Any) -> None:
        budgets = {"txns": 3, "timeouts": 3, "crashes": 3, "losses": 3, "partitions": 1} | configuration
        self.model = model(Configuration(**budgets))
        self.program = self.model.program
        self.names: dict[str, Any] = self.program.python
        self.s: StateView = self.program.initial()
        self.taken: list[Taken] = []

    # steps; each returns the paper's steps that it entered

    def possible(self) -> list[int]:
        out = [0] * 512
        self.names["enabled"](self.s, out)
        return out[1 : out[0] + 1]

    def can(self, kind: int, a: int, b: int = 0, place: int = 0) -> bool:
        return kind << 24 | a << 16 | b << 8 | place in self.possible()

    def take(self, kind: int, a: int, b: int = 0, place: int = 0, choice: int = 0) -> set[str]:
        assert self.can(kind, a, b, place), f"{NUMBERED[kind].called} at {a} (with {b}) is not possible"
        word = kind << 24 | a << 16 | b << 8 | place | choice << 32
        self.note(word)
        self.names["apply"](self.s, word)
        return {name for k, name in enumerate(self.program.steps) if self.s.steps >> k & 1}

    def oracle(self, p: int, leader: int) -> set[str]:
        return self.take(c.ORACLE, p, leader)

    def follower(self, f: int, *, place: int = 0) -> set[str]:
        """Follower f receives the next message of its leader."""
        return self.take(c.TO_FOLLOWER, f, self.s.leader[f], place)

    def leader(self, l: int, f: int, *, place: int = 0, choice: int = 0) -> set[str]:
        """Leader l receives the next message of follower f."""
        return self.take(c.TO_LEADER, l, f, place, choice)

    def abcast(self, p: int) -> set[str]:
        return self.take(c.ABCAST, p)

    def crash(self, p: int) -> None:
        self.take(c.CRASH, p)

    def recover(self, p: int) -> None:
        self.take(c.RECOVER, p)

    def time_out(self, p: int) -> None:
        self.take(c.TIMEOUT, p)

    def lose(self, f: int, l: int) -> None:
        self.take(c.LOSE_CONNECTION, f, l)

    def follower_learns(self, f: int) -> None:
        self.take(c.FOLLOWER_LEARNS, f, self.s.leader[f])

    def leader_learns(self, l: int, f: int) -> None:
        self.take(c.LEADER_LEARNS, l, f)

    # several steps at once

    def elect(self, leader: int, *followers: int) -> Run:
        """The oracle of the leader and of its followers names the leader."""
        for p in (leader, *followers):
            self.oracle(p, leader)
        return self

    def settle(self, *processes: int) -> Run:
        """These processes receive whatever comes to them from each other, until nothing is left."""
        while True:
            for word in self.possible():
                kind, a, b = word >> 24, word >> 16 & 255, word >> 8 & 255
                if kind in (c.TO_LEADER, c.TO_FOLLOWER) and {a, b} <= set(processes):
                    self.take(kind, a, b)
                    break
            else:
                return self

    def establish(self, leader: int, *followers: int) -> Run:
        """Elect, and let Phases 1 and 2 run to their end."""
        return self.elect(leader, *followers).settle(leader, *followers)

    def gather(self, leader: int, *followers: int) -> Run:
        """Elect, and let the leader receive every CEPOCH (l.1.1)."""
        self.elect(leader, *followers)
        for f in (leader, *followers):
            self.leader(leader, f)
        return self

    # what a failure shows

    def note(self, word: int) -> None:
        """Keep a step that is about to be taken."""
        frame = sys._getframe(1)
        while frame.f_code.co_filename == __file__ and frame.f_back is not None:
            frame = frame.f_back
        self.taken.append(Taken(bytes(self.s.buffer), word, frame.f_code.co_filename, frame.f_lineno))

    def at_failure(self, expected: str) -> str:
        """The run so far: before each step the line of the test that took it, and at its end what was expected."""
        runner = Runner(self.model)
        initial, steps = state_json(runner.state), []
        notes: dict[int, list[str]] = {}
        at = ("", 0)
        for k, step in enumerate(self.taken):
            if (step.file, step.line) != at:
                at = step.file, step.line
                notes.setdefault(k, []).append(f"{Path(step.file).name}:{step.line}: {getline(*at).strip()}")
            if bytes(runner.state.buffer) != step.before:
                runner.state = StateView(runner.layout, step.before)
                notes.setdefault(k, []).append("(the test changes the state)")
            steps.append(runner.step(step.word))
        notes.setdefault(len(steps), []).append(f"after step {len(steps)}: expected at {expected}")
        return shown(Trace(self.model.configuration, "", "", "", initial, tuple(steps), ""), notes)

    # what there is

    def to_follower(self, f: int) -> list[str]:
        return [text(m) for m in self.s.to_follower[f]]

    def to_leader(self, f: int, l: int) -> list[str]:
        return [text(m) for m in self.s.to_leader[f][l]]

    def history(self, f: int) -> list[str]:
        return [zxid(t) for t in self.s.history[f]]

    def delivered(self, f: int) -> list[str]:
        return [zxid(t) for t in self.s.delivered[f]]

    def roles(self) -> list[int]:
        return list(self.s.role)

    def Q(self, l: int) -> set[int]:
        return set(self.s.Q[l])


def gathered() -> Run:
    """Process 1, with [1.1, 1.2], has gathered itself and 2, whose history is empty, for epoch 2."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    run.settle(0, 1)
    run.time_out(0)
    run.follower_learns(1)
    run.gather(1, 2)
    return run


def proposed() -> Run:
    """NEWLEADER(2, [1.1, 1.2]) is on its way to follower 2, whose history is empty."""
    run = gathered()
    run.follower(1)
    run.follower(2)
    run.leader(1, 2)
    run.leader(1, 1)
    assert run.to_follower(2) == ["NEWLEADER(2, [1.1, 1.2])"]
    return run
