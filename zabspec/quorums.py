"""Define the quorum systems of a model: which sets of processes are quorums (DSN'11 II.1), and their automorphisms.

A model counts majorities unless it is given a system. A system comes from the `group.` and `weight.` lines of a zoo.cfg
(`zabspec/zoo_cfg.py`), and is known by one line of text, in which server k, counted from 1, is process k - 1.

    weights 2,1,1,1,0
    groups {1,2},{3,4},{5}
    groups {1,2},{3,4},{5} weights 1,1,1,1,0
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations

from zabspec.ensemble import ConfigError, Ensemble
from zabspec.zoo_cfg import ensemble_of

MAJORITY = "majority"  # the name, on a command line, of the system with the empty text
MOST = 7  # processes of a model
TEXT = re.compile(
    r"weights (?P<alone>-?\d{1,19}(,-?\d{1,19}){0,6})"
    r"|groups (?P<groups>\{\d(,\d)*\}(,\{\d(,\d)*\})*)( weights (?P<weights>-?\d{1,19}(,-?\d{1,19}){0,6}))?",
    re.ASCII,
)
OBSERVED = "weights 1,1,1,0"  # three servers vote, and the last observes


@dataclass(frozen=True)
class QuorumSystem:
    """A quorum system: the sets of processes that are quorums.

    Attributes:
        nodes: the number of processes, 1 to 7. A set of them is a mask: bit p is process p.
        table: bit m says whether the set with mask m is a quorum.
        text: the system in one line; see the module.
        weights: the weight of each process; 1 unless the text says otherwise.
    """

    nodes: int
    table: int
    text: str
    weights: tuple[int, ...]

    def has(self, mask: int) -> bool:
        """Return whether a set of processes is a quorum."""
        return bool(self.table >> mask & 1)

    @property
    def quorums(self) -> Iterator[int]:
        """Return all quorums."""
        return (mask for mask in range(1 << self.nodes) if self.has(mask))

    @property
    def grows(self) -> bool:
        """Return whether every set that contains a quorum is one; a negative weight may prevent it."""
        return all(self.has(mask | 1 << p) for mask in self.quorums for p in range(self.nodes))

    @property
    def smallest(self) -> int:
        """Return the size of a smallest quorum."""
        return min(mask.bit_count() for mask in self.quorums)

    @property
    def disjoint(self) -> tuple[int, int] | None:
        """Return two quorums that do not intersect, as small as possible; None if any two intersect."""
        ordered = sorted(self.quorums, key=lambda mask: (mask.bit_count(), mask))
        return next(((a, b) for a in ordered for b in ordered if not a & b), None)

    @cached_property
    def renamings(self) -> tuple[tuple[int, ...], ...]:
        """Return the automorphisms: the renamings of processes, i to p[i], that keep quorums and non-quorums.

        They are in the order of `itertools.permutations`, so that the first is the identity.
        """
        return tuple(p for p in permutations(range(self.nodes)) if self.kept_by(p))

    def kept_by(self, p: Sequence[int]) -> bool:
        """Return whether a renaming of processes, i to p[i], is an automorphism."""
        return all(self.has(mask) == self.has(image(mask, p)) for mask in range(1 << self.nodes))


def quorums_with(variant: str) -> str:
    """Return the system of a variant of zookeeper where nothing is said of it: with an observer, or of majorities."""
    return OBSERVED if "observer" in variant.split(",") else ""


def image(mask: int, p: Sequence[int]) -> int:
    """Return a set of processes with process i renamed to p[i]."""
    return sum(1 << to for i, to in enumerate(p) if mask >> i & 1)


def named(mask: int) -> str:
    """Return a set of processes as messages write it."""
    return "{" + ", ".join(f"p{p}" for p in range(mask.bit_length()) if mask >> p & 1) + "}"


def text_of(ensemble: Ensemble) -> str:
    """Return the text of the system that an ensemble has; empty for majorities.

    Raises:
        ConfigError: no model has such a system.
    """
    servers = ensemble.participants
    if ensemble.observers:
        alone = "every process of a model votes, but in variant observer of zookeeper (`weights 1,1,1,0`)"
        raise ConfigError(f"server {ensemble.observers[0]} is an observer, but {alone}")
    if len(servers) > MOST:
        raise ConfigError(f"it has {len(servers)} servers, but a model has at most {MOST} processes")
    if ensemble.doubtful:
        raise ConfigError(f"where {ensemble.oracle} says so, each of two servers is a quorum, which no model has")
    return system_of(written(ensemble)).text if ensemble.groups else ""


def written(ensemble: Ensemble) -> str:
    """Return the one text of the groups and weights of an ensemble.

    Raises:
        ConfigError: no text has them.
    """
    counted = sum(ensemble.weight(members) != 0 for members in ensemble.groups.values())
    if counted != ensemble.counted or set(ensemble.weights) != set(ensemble.participants):
        raise ConfigError("a group is empty, or has a member that does not vote: no model has such quorums")
    number = {server: k for k, server in enumerate(ensemble.participants, 1)}
    weights = ",".join(str(ensemble.weights[server]) for server in ensemble.participants)
    groups = sorted(sorted(number[m] for m in members) for members in ensemble.groups.values())
    if len(groups) == 1:
        return f"weights {weights}"
    listed = ",".join("{" + ",".join(map(str, members)) + "}" for members in groups)
    return f"groups {listed}" + ("" if set(ensemble.weights.values()) == {1} else f" weights {weights}")


@lru_cache(maxsize=64)
def system_of(text: str) -> QuorumSystem:
    """Return the system of a text that `text_of` gives.

    Raises:
        ConfigError: there is no such system, or no model has it.
    """
    found = TEXT.fullmatch(text)
    if found is None:
        raise ConfigError(f"a quorum system is like `weights 2,1,1` or `groups {{1,2}},{{3}}`, not {text!r:.80}")
    given = found["alone"] or found["weights"]
    weights = [int(w) for w in given.split(",")] if given else []
    groups = [tuple(map(int, part.split(","))) for part in re.findall(r"\{([\d,]+)\}", found["groups"] or "")]
    groups = groups or [tuple(range(1, len(weights) + 1))]
    nodes = len(weights) or max(m for members in groups for m in members)
    roles = dict.fromkeys(range(1, nodes + 1), "participant")
    ensemble = ensemble_of(roles, enumerate(groups, 1), dict(enumerate(weights, 1)))
    if written(ensemble) != text:
        raise ConfigError(f"this quorum system must be written `{written(ensemble)}`, not `{text}`")
    table = sum(1 << mask for mask in range(1 << nodes) if ensemble.is_quorum(servers_of(mask, nodes)))
    if not table:
        raise ConfigError(f"`{text}` has no quorum, not even all servers: nothing could ever be committed")
    return QuorumSystem(nodes, table, text, tuple(ensemble.weights[k] for k in range(1, nodes + 1)))


def servers_of(mask: int, nodes: int) -> frozenset[int]:
    """Return the servers that a set of processes is."""
    return frozenset(p + 1 for p in range(nodes) if mask >> p & 1)
