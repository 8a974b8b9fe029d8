"""Define quorum systems as ZooKeeper counts them (`QuorumMaj`, `QuorumHierarchical`, `QuorumOracleMaj`).

Without groups a quorum is a majority of the participants. With groups it is a majority of the groups whose weight is
not zero, each by members that have more than half of the group's weight. Observers vote for nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["ConfigError", "Ensemble", "word"]


class ConfigError(Exception):
    """The file is no configuration of an ensemble, or one that ZooKeeper would refuse; the message says why."""


def word(value: int) -> int:
    """Return a sum as a signed word of 64 bits has it."""
    return (value + 2**63) % 2**64 - 2**63


@dataclass(frozen=True)
class Ensemble:
    """Who votes, and how.

    Attributes:
        participants: server numbers, ascending.
        observers: the same, of those that do not vote.
        groups: the members of each group by its number, servers or not; empty for majorities.
        weights: of every participant, and of every other member of a group.
        counted: groups of which a quorum needs a majority: those given, without those whose weight is zero.
        oracle: the file that makes one of two servers a quorum where it says so (`oraclePath`, 3.8 and later).
    """

    participants: tuple[int, ...]
    observers: tuple[int, ...]
    groups: dict[int, tuple[int, ...]]
    weights: dict[int, int]
    counted: int = 1
    oracle: str = ""

    def blocks(self) -> list[tuple[tuple[int, ...], int]]:
        """Return of each group its members that vote, and the weight that they must exceed; without groups of all.

        Half of a weight is rounded towards zero, as Java divides.
        """
        if not self.groups:
            return [(self.participants, len(self.participants) // 2)]
        voters = frozenset(self.participants)
        found = []
        for members in filter(None, self.groups.values()):
            whole = self.weight(members)
            found.append((tuple(m for m in members if m in voters), whole // 2 if whole > 0 else -(-whole // 2)))
        return found

    def weight(self, members: Collection[int]) -> int:
        """Return the total weight of some servers."""
        return sum(self.weights[s] for s in members)

    @property
    def lightest(self) -> int:
        """Return the smallest weight."""
        return min(self.weights.values())

    @property
    def doubtful(self) -> bool:
        """Return whether one server alone can be a quorum because an oracle says so."""
        return bool(self.oracle) and len(self.participants) <= 2

    def is_quorum(self, servers: frozenset[int]) -> bool:
        """Return whether these servers are, or contain, a quorum, as ZooKeeper counts; an oracle says yes."""
        if self.doubtful:
            return True
        won = sum(bool(here) and self.weight(here) > half for here, half in self.inside(servers))
        return won > self.counted // 2

    def inside(self, servers: frozenset[int]) -> list[tuple[frozenset[int], int]]:
        """Return of each group those of some servers that it has, and the weight that they must exceed."""
        return [(servers.intersection(members), half) for members, half in self.blocks()]

    @property
    def kind(self) -> str:
        """Return the kind of quorum system in words."""
        if self.doubtful:
            return f"majorities of {len(self.participants)}, or one server while {self.oracle} says 1 (oraclePath)"
        if not self.groups:
            return f"majorities of {len(self.participants)}"
        weighted = "" if set(self.weights.values()) == {1} else ", weighted"
        return f"hierarchical: majorities of {self.counted} group{'' if self.counted == 1 else 's'}{weighted}"
