"""Parse quorum systems as ZooKeeper configures them: the `server.`, `group.` and `weight.` lines of a zoo.cfg.

Without groups a quorum is a majority of the participants. With groups (ZooKeeper's hierarchical quorums)
it is a majority of the groups whose weight is not zero, each by members that have more than half of the
group's weight. Observers vote for nothing and belong to no group.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

LINE = re.compile(r"\s*(server|group|weight)\.([^=\s]*)\s*=\s*(.*?)\s*")
KINDS = ("participant", "observer")


class ConfigError(Exception):
    """The file is no configuration of an ensemble, or one that ZooKeeper would refuse; the message says why."""


@dataclass(frozen=True)
class Ensemble:
    """Who votes, and how.

    Attributes:
        participants: server numbers, ascending.
        observers: the same, of those that do not vote.
        groups: the members of each group by its number; empty for majorities.
        weights: of every participant; 1 unless configured.
    """

    participants: tuple[int, ...]
    observers: tuple[int, ...]
    groups: dict[int, tuple[int, ...]]
    weights: dict[int, int]

    def blocks(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the groups that count; all participants as one group if there are none."""
        if not self.groups:
            return [("the ensemble", self.participants)]
        return [(f"group {g}", members) for g, members in self.groups.items() if self.weight(members) != 0]

    def weight(self, members: tuple[int, ...] | frozenset[int]) -> int:
        """Return the total weight of some servers."""
        return sum(self.weights[s] for s in members)

    @property
    def lightest(self) -> int:
        """Return the smallest weight."""
        return min(self.weights.values())

    def is_quorum(self, servers: frozenset[int]) -> bool:
        """Return whether these servers are, or contain, a quorum, as ZooKeeper counts."""
        blocks = self.blocks()
        won = [2 * self.weight(servers & frozenset(members)) > self.weight(members) for _, members in blocks]
        return 2 * sum(won) > len(blocks)

    @property
    def kind(self) -> str:
        """Return the kind of quorum system in words."""
        if not self.groups:
            return f"majorities of {len(self.participants)}"
        counted = len(self.blocks())
        weighted = "" if set(self.weights.values()) == {1} else ", weighted"
        return f"hierarchical: majorities of {counted} group{'s' if counted != 1 else ''}{weighted}"


def parse(text: str) -> Ensemble:
    """Parse a zoo.cfg.

    Raises:
        ConfigError: with the line at fault.
    """
    roles: dict[int, str] = {}
    groups: dict[int, tuple[int, ...]] = {}
    weights: dict[int, int] = {}
    for k, line in enumerate(text.splitlines(), 1):
        found = LINE.fullmatch(line.split("#", 1)[0])
        if found is None:
            continue
        what, number = found[1], integer(found[2], f"line {k}: the number of a {found[1]}")
        known: dict[str, Collection[int]] = {"server": roles, "group": groups, "weight": weights}
        if number in known[what]:
            raise ConfigError(f"line {k}: {what}.{number} is given twice")
        if what == "server":
            roles[number] = role(found[3], k)
        elif what == "weight":
            weights[number] = integer(found[3], f"line {k}: the weight of server {number}")
        else:
            members = tuple(integer(m, f"line {k}: a member of group {number}") for m in found[3].split(":"))
            for m in members:
                if members.count(m) > 1 or any(m in others for others in groups.values()):
                    raise ConfigError(f"line {k}: server {m} is in a group twice")
            groups[number] = members
    return checked(roles, groups, weights)


def checked(roles: dict[int, str], groups: dict[int, tuple[int, ...]], weights: dict[int, int]) -> Ensemble:
    """Return the ensemble after checking what ZooKeeper checks.

    Raises:
        ConfigError: ZooKeeper would refuse it.
    """
    participants = tuple(sorted(s for s, kind in roles.items() if kind == "participant"))
    observers = tuple(sorted(set(roles) - set(participants)))
    if not participants:
        raise ConfigError("there is no server that votes: no line like server.1=host:2888:3888")
    if weights and not groups:
        raise ConfigError("weights need groups: put all servers into one, like group.1=1:2:3")
    for s in [*(m for members in groups.values() for m in members), *weights]:
        if s not in roles:
            raise ConfigError(f"server {s} has a group or a weight but no server.{s} line")
        if s in observers:
            raise ConfigError(f"server {s} is an observer and has a group or a weight")
    alone = [s for s in participants if groups and not any(s in members for members in groups.values())]
    if alone:
        raise ConfigError(f"server {alone[0]} is in no group, but the others are")
    return Ensemble(participants, observers, groups, {s: weights.get(s, 1) for s in participants})


def role(value: str, line: int) -> str:
    """Return participant or observer, from host:port:port[:role][;client port], alternatives divided by `|`."""
    last = value.split("|")[0].split(";")[0].rsplit(":", 1)[-1].strip().lower()
    if not value or ":" not in value:
        raise ConfigError(f"line {line}: a server is host:port:port, not {value!r}")
    if last in KINDS:
        return last
    if not last.isdigit():
        raise ConfigError(f"line {line}: a server's role is participant or observer, not {last!r}")
    return "participant"


def integer(value: str, what: str) -> int:
    """Parse a whole number of 64 bits.

    Raises:
        ConfigError: the text is no such number; the message names `what`.
    """
    if not re.fullmatch(r"[+-]?\d{1,19}", value.strip(), re.ASCII) or not -(2**63) <= int(value) < 2**63:
        raise ConfigError(f"{what} must be a whole number, not {value!r}")
    return int(value)
