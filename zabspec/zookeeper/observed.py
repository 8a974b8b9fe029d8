"""What is noted of a run for the properties."""

from __future__ import annotations

from zabspec.authoring.declaration import observation
from zabspec.zookeeper.state import State, epoch_of


@observation(tree="exposed")
def exposes(s: State, epoch: int, tree: int) -> None:
    """A server that serves in an epoch has applied these."""
    s.exposed[epoch] = s.exposed[epoch] | tree


@observation(tree="exposed")
def founds(s: State, epoch: int, tree: int) -> None:
    """A leader is established: a quorum acknowledged NEWLEADER, and it serves."""
    if s.founded[epoch] != 0:
        s.twice = True
    s.founded[epoch] = tree | 1


@observation(zxid="last_proposed")
def proposes(s: State, zxid: int, epoch: int) -> None:
    """A leader gives a transaction its zxid. That no zxid is given twice follows from this, from one leader an epoch
    and from zxids that ascend."""
    if epoch_of(zxid) != epoch:
        s.strayed = True


@observation
def threw_up(s: State) -> None:
    """A server stops for a packet."""
    s.threw = True


@observation
def walks(s: State) -> None:
    """A leader reads its own log for a learner."""
    s.walked = True


@observation
def skips(s: State) -> None:
    """A leader sends a learner not all that it has itself behind what the learner has."""
    s.skipped = True


@observation
def swallows(s: State) -> None:
    """LearnerHandler takes another acknowledgement for that of NEWLEADER."""
    s.swallowed = True
