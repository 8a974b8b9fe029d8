"""The leader oracle as LADIS'08 describes the election: it stands in the world's place, and alone sees more than one
process.

4.2: "If the leader election protocol guarantees that the new leader has the highest proposal number in a quorum of
servers, a newly elected leader will also have all committed messages."
"""

from __future__ import annotations

from zabspec.language.python.lang import Node, State, is_quorum
from zabspec.protocols.ladis import last, zxid_le


def oracle_may_name(s: State, p: Node, l: Node) -> bool:
    """At this instant the logs of a quorum, whoever is up or down, do not end with a higher zxid than
    l's. With DSN'11's `current-epoch` the epoch last recognised comes before the zxid."""
    return is_quorum(s, {q for q in range(s.NODES) if ends_no_higher(s, q, l)})


def ends_no_higher(s: State, q: Node, l: Node) -> bool:
    """Whether the log of q does not end with a higher zxid than that of l."""
    if s.current_epoch[q] == s.current_epoch[l]:
        return zxid_le(last(s.history[q]), last(s.history[l]))
    return s.current_epoch[q] < s.current_epoch[l]
