"""The leader oracle as LADIS'08 describes the election: it stands in the world's place, and alone sees more than one
process.

4.2: "If the leader election protocol guarantees that the new leader has the highest proposal number in a quorum of
servers, a newly elected leader will also have all committed messages."
"""

from __future__ import annotations

from zabspec.language.lang import Node, State
from zabspec.protocols.ladis import last, zxid_le

__all__: list[str] = []


def oracle_may_name(s: State, p: Node, l: Node) -> bool:
    """At this instant the logs of a quorum, whoever is up or down, do not end with a higher zxid than
    l's. With DSN'11's `current-epoch` the epoch last recognised comes before the zxid."""
    behind = 0
    for q in range(s.NODES):
        if s.current_epoch[q] < s.current_epoch[l]:
            behind = behind + 1
        elif s.current_epoch[q] == s.current_epoch[l] and zxid_le(last(s.history[q]), last(s.history[l])):
            behind = behind + 1
    return behind >= s.MAJORITY
