"""Directories drawn from the `zookeeper` protocol: the disks of a state at the end of a random run, as files; and what
operators do to them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from invariants.binding import bound
from tests.zookeeper.written import Tree, Txn, Written, create, snapshot_bytes, tree_of, zxid
from traces.record.trace import StepWord
from zabspec.language.python.reference import StateView
from zabspec.model import Configuration, Model
from zabspec.zookeeper.state import WIDTH

REPAIRED = "4882,4837-here,1558,trunc,cut,5094,2354,snap-tail,trunc-epoch"  # all that is known of the newest release
FAULTS = ("crash", "lose_connection", "follower_loses", "leader_loses", "partition")


def real(model: int) -> int:
    """The zxid of a file for one of the model."""
    return zxid(*divmod(model, WIDTH))


def txn(model: int) -> Txn:
    """A transaction creates a node that is called after it."""
    return Txn(real(model), *create(f"/{node_of(real(model))}"))


def node_of(z: int) -> str:
    return f"t{z >> 32}_{z & 0xFFFFFFFF}"


@cache
def model_of(variant: str, crashes: int, losses: int, elections: int) -> tuple[Model, dict[str, Any]]:
    budgets = f"elections={elections},proposals=2,write_errors=0"
    made = Model(
        Configuration("zookeeper", variant, 3, timeouts=0, crashes=crashes, losses=losses, partitions=0,
                      budgets=budgets, start="established")
    )  # fmt: skip
    return made, bound(made)


@dataclass
class Drawn:
    """The end of a run.

    Attributes:
        earlier: states on the way, of which a backup may be.
        served: what a server that served had applied at some time, by zxids of the model.
    """

    state: StateView
    earlier: list[StateView] = field(default_factory=list)

    @property
    def served(self) -> set[int]:
        out = 0
        for tree in self.state.exposed:
            out |= int(tree)
        return {z for z in range(out.bit_length()) if out >> z & 1}

    def written(self) -> list[Written]:
        return [written(self.state, p) for p in range(3)]


def draw(seed: int, variant: str = REPAIRED, crashes: int = 1, losses: int = 2, elections: int = 3) -> Drawn:
    """A random run of up to 90 steps; all servers that refuse to start are avoided by nobody."""
    random_one = random.Random(seed)
    model, names = model_of(variant, crashes, losses, elections)
    s = StateView(model.program.layout)
    names["initialize"](s)
    out = Drawn(s)
    for n in range(random_one.randrange(20, 90)):
        words = [0] * (model.most_steps + 1)
        names["enabled"](s, words)
        possible = words[1 : words[0] + 1]
        if not possible:
            break
        weights = [0.15 if StepWord.of(w).kind in FAULTS else 1.0 for w in possible]
        s = s.copy()
        names["apply"](s, random_one.choices(possible, weights)[0])
        if n % 10 == 0:
            out.earlier.append(s.copy())
    out.state = s
    return out


def written(s: StateView, p: int) -> Written:
    """The disk of a server."""
    files: dict[int, list[Txn]] = {}
    last = 0
    for z in s.log[p]:
        if not files or int(z) <= last:
            name = real(int(z))
            if name in files:  # a file of this name is there already: its records are there once
                continue
            files[name] = []
        files[list(files)[-1]].append(txn(int(z)))
        last = int(z)
    out = Written(files, {0: snapshot_bytes(Tree(), None)}, int(s.current_epoch[p]), int(s.accepted_epoch[p]))
    for name, tree in zip(s.snapshot_names[p], s.snapshot_trees[p], strict=True):
        members = [txn(z) for z in range(int(tree).bit_length()) if int(tree) >> z & 1]
        out.snapshots[real(int(name))] = snapshot_bytes(tree_of(members), None)
    return out


# --- what operators do ------------------------------------------------------------------------------------------


def nothing(drawn: Drawn, disks: list[Written], choose: random.Random) -> list[Written]:
    return disks


def backup_restored(drawn: Drawn, disks: list[Written], choose: random.Random) -> list[Written]:
    """All of one server, epoch files too."""
    p = choose.randrange(3)
    disks[p] = written(choose.choice(drawn.earlier), p)
    return disks


def backup_with_newer_epochs(drawn: Drawn, disks: list[Written], choose: random.Random) -> list[Written]:
    p = choose.randrange(3)
    old = written(choose.choice(drawn.earlier), p)
    old.current, old.accepted = disks[p].current, disks[p].accepted
    disks[p] = old
    return disks


def epoch_files_removed(drawn: Drawn, disks: list[Written], choose: random.Random) -> list[Written]:
    disks[choose.randrange(3)].current = None
    return disks


def tail_cut(drawn: Drawn, disks: list[Written], choose: random.Random) -> list[Written]:
    """The last records of a log are gone."""
    of = [d for d in disks if d.files]
    if of:
        last = list(choose.choice(of).files.values())[-1]
        del last[max(1, len(last) - choose.randrange(1, 3)) :]
    return disks


def emptied(drawn: Drawn, disks: list[Written], choose: random.Random) -> list[Written]:
    disks[choose.randrange(3)] = Written({}, {0: snapshot_bytes(Tree(), None)}, None)
    return disks


ACCIDENTS: tuple[Callable[[Drawn, list[Written], random.Random], list[Written]], ...] = (
    backup_restored, backup_with_newer_epochs, epoch_files_removed, tail_cut, emptied,
)  # fmt: skip
