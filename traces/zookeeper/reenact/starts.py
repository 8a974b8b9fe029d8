"""The states in which a run begins that real servers can be brought to (`reenactment.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from traces.zookeeper.reenact.compare import ROOT
from traces.zookeeper.reenact.disks import loses_power
from traces.zookeeper.reenact.distributions import Cannot, Release
from traces.zookeeper.reenact.plan import ESTABLISHED, NEW


@dataclass(frozen=True)
class Start:
    """A state in which runs begin.

    Attributes:
        root: the node below which each transaction creates one; empty for the root of the tree.
        lines: further lines of the servers' configurations.
        trees: whether the nodes in snapshots are compared in every run.
        connects: whether clients connect to a leader when it begins to serve; if not, they have connected before.
        said: the state, in words that follow the servers as their subject.
    """

    root: str
    lines: tuple[str, ...]
    trees: bool
    connects: bool
    said: str


STARTS = {
    ESTABLISHED: Start(
        ROOT, (), False, False,
        "are in epoch 1, server {leader} leads; <1,1> is everywhere, <1,2> is proposed and logged nowhere",
    ),
    NEW: Start(
        "", ("localSessionsEnabled=true",), True, True,
        "have started in empty directories and look for a leader; both epochs are 0, and no vote has been heard",
    ),
}  # fmt: skip


def check_start(name: str, release: Release, variant: str) -> None:
    """Check that servers of a release can be played from a start, and compared with a variant of the protocol.

    Raises:
        Cannot: a session would be a transaction that the model does not have, or a snapshot be lost that it does not
            have.
    """
    if name == NEW and loses_power(variant):
        raise Cannot("from new servers no power can be lost here: snapshot.0, which the model does not have, would be")
    if STARTS[name].connects and release.is_34:
        raise Cannot("a run from new servers needs sessions that are no transactions (localSessionsEnabled, 3.5.0)")
