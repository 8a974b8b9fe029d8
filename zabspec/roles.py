"""Define the roles of processes, such as clients and servers, and the renamings that keep them.

The processes of a role are consecutive, and roles follow each other in the order of their declaration: with
`client=2,server=3` processes 0 and 1 are client1 and client2, and processes 2, 3 and 4 are server1 to server3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from typing import Protocol

MOST_PROCESSES = 20  # of a model: 20! < 2**63 < 21!


def type_name(role: str) -> str:
    """Return the name by which annotations know the processes of a role: `LockServer` of `lock_server`."""
    return "".join(part[:1].upper() + part[1:] for part in role.split("_"))


class OfRole(Protocol):
    """A field that the processes of one role have."""

    @property
    def of(self) -> str: ...


@dataclass(frozen=True)
class Role:
    """A role and its processes, `first` to `end - 1`."""

    name: str
    first: int
    count: int

    @property
    def end(self) -> int:
        """Return the number after the last process."""
        return self.first + self.count

    @property
    def members(self) -> range:
        """Return the role's processes."""
        return range(self.first, self.end)

    @property
    def majority(self) -> int:
        """Return the size of a smallest majority of the role's processes."""
        return self.count // 2 + 1


@dataclass(frozen=True)
class Roles:
    """The roles of a model, in the order of its processes."""

    every: tuple[Role, ...]

    @staticmethod
    def of(counts: Mapping[str, int]) -> Roles:
        """Return roles from the number of processes of each."""
        out: list[Role] = []
        for name, count in counts.items():
            out.append(Role(name, out[-1].end if out else 0, count))
        return Roles(tuple(out))

    def __iter__(self) -> Iterator[Role]:
        return iter(self.every)

    @property
    def nodes(self) -> int:
        """Return the number of processes."""
        return self.every[-1].end

    @property
    def text(self) -> str:
        """Return all roles in a line."""
        return ",".join(f"{r.name}={r.count}" for r in self.every)

    @property
    def by_type(self) -> Mapping[str, Role]:
        """Return the roles by the names that annotations use."""
        return {type_name(r.name): r for r in self.every}

    def of_process(self, p: int) -> Role:
        """Return the role of a process."""
        return next(r for r in self.every if p in r.members)

    def name_of(self, p: int) -> str:
        """Return a process as people read it: `client1`."""
        role = self.of_process(p)
        return f"{role.name}{p - role.first + 1}"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name of every process: `client1`, ..."""
        return tuple(map(self.name_of, range(self.nodes)))

    @property
    def renamings(self) -> tuple[tuple[int, ...], ...]:
        """Return every renaming of processes, i to p[i], that keeps each process's role.

        It is the product of the symmetric groups, in the order of `itertools.permutations`, so that the first is the
        identity.
        """
        return tuple(sum(parts, ()) for parts in product(*(permutations(r.members) for r in self.every)))


def has(roles: Roles | None, field: OfRole, p: int) -> bool:
    """Return whether a process has a field: all have it, or those of its role."""
    return roles is None or not field.of or roles.of_process(p).name == field.of


@lru_cache(64)
def roles_of(text: str) -> Roles | None:
    """Return the roles that a line of `Roles.text` says; None if it is empty."""
    parts = (part.partition("=") for part in text.split(",") if part)
    counts = {name: int(number) for name, _, number in parts}
    return Roles.of(counts) if counts else None
