"""Let the simulator's leader oracle go round: the leader of a view is the process after that of the view before.

So Viewstamped Replication Revisited names its primary. A process that asks again has given up on its view: the oracle
goes on to the next, or to the latest that it has come to for any process. These functions override those of
`connections` of the same name.
"""

from __future__ import annotations

from zabspec.language import NODE, Field, Int, Role
from zabspec.language.python.lang import Node, State
from zabspec.simulator.mail import HELD


def view_fields() -> tuple[Field, ...]:
    """Return the field of the oracle's own state."""
    return (Field("view", Int(0, HELD), Role.NETWORK, (NODE,), "how many views the oracle has come to for a process"),)


def oracle(s: State, p: Node) -> int:
    """Return the leader that the oracle of p names: the script's, or that of the view that it goes on to."""
    if s.sim_scripted:
        return s.sim_client
    latest = s.view[p] + 1
    for q in range(s.NODES):
        latest = max(latest, s.view[q])
    s.view[p] = latest
    return (latest - 1) % s.NODES
