"""Fine refines coarse: the election with its votes, step by step, against the election that is one step.

The map forgets the votes (`tests/protocols/votes.py`: hidden_fields) and leaves every other byte: logs,
snapshots, epochs, trees, roles, packets, what was observed. A step of the fine text has to leave the image as it is, or
to be one step of the coarse text from there. Of steps that leave it, only so many may follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType, ModuleType

from checker.explore.compiled import Compiled
from tests.protocols import votes
from zabspec.language.layout.schema import Layout
from zabspec.limits import Deadline
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import Parts


class WithVotes(Model):
    """A model of ZooKeeper whose elections are votes.

    Args:
        logged: the mutant that votes with the last logged zxid, not with the last processed.
    """

    def __init__(self, configuration: Configuration, logged: bool = False) -> None:
        super().__init__(configuration)
        self.logged = logged

    @property
    def extension(self) -> str:
        return f"votes {self.logged}"

    @cached_property
    def parts(self) -> Parts:
        plain = super().parts
        return replace(plain, fields=(*plain.fields, *votes.hidden_fields(self.size(self.epochs))))

    @cached_property
    def own_world(self) -> tuple[ModuleType, ...]:
        given = (*super().own_world, votes)
        if not self.logged:
            return given
        mutant = ModuleType("votes_with_the_last_logged")
        function = FunctionType(votes.last_logged.__code__, vars(votes), "own_zxid")
        function.__module__, function.__annotations__ = mutant.__name__, votes.last_logged.__annotations__
        vars(mutant)["own_zxid"] = function
        return (*given, mutant)


@dataclass
class Refinement:
    """What came of it.

    Attributes:
        states, steps: of the fine text, looked at.
        hidden: how many of the steps leave the image as it is.
        longest: the most of these that follow each other.
        broken: the fine steps that lead to one that is none of the coarse text, that last; empty: there is none.
        complete: every state within the budgets was looked at.
    """

    states: int = 0
    steps: int = 0
    hidden: int = 0
    longest: int = 0
    broken: tuple[int, ...] = ()
    complete: bool = False

    @property
    def holds(self) -> bool:
        return self.complete and not self.broken


def image_of(fine: Layout, coarse: Layout) -> list[tuple[int, int, int]]:
    """The map, as pieces of bytes: where each lies in a fine state, where in a coarse one, and how many there are."""
    pieces = []
    for f in coarse.schema.fields:
        for index, at in coarse.elements(f.name):
            if at < coarse.size:
                pieces.append((fine.offset(f.name, *index), at, f.kind.size))
    pieces.sort(key=lambda piece: piece[1])
    return list(joined(pieces))


def joined(pieces: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Neighbours that stay neighbours are one piece."""
    last = pieces[0]
    for piece in pieces[1:]:
        if (piece[0] - last[0], piece[1] - last[1]) == (last[2], last[2]):
            last = (last[0], last[1], last[2] + piece[2])
        else:
            yield last
            last = piece
    yield last


class RefinementQuery:
    """A question of refinement, and how far it is answered."""

    def __init__(self, fine: Model, coarse: Model) -> None:
        self.fine, self.coarse = Compiled(fine, (), False), Compiled(coarse, (), False)
        self.pieces = image_of(self.fine.layout, self.coarse.layout)
        self.size = self.fine.layout.size
        self.after: dict[bytes, frozenset[bytes]] = {}  # of coarse states, those a step later
        self.ways: dict[bytes, tuple[bytes, int]] = {}  # of fine states, the one before and the step
        self.stutters: dict[bytes, list[bytes]] = {}

    def image(self, state: bytes) -> bytes:
        """What the coarse text sees of a fine state."""
        out = bytearray(self.coarse.layout.size)
        for a, b, n in self.pieces:
            out[b : b + n] = state[a : a + n]
        return bytes(out)

    def coarse_after(self, image: bytes) -> frozenset[bytes]:
        """The coarse states a step after one."""
        found = self.after.get(image)
        if found is None:
            size = self.coarse.layout.size
            found = frozenset(after[:size] for _, after in self.coarse.next_states(image))
            self.after[image] = found
        return found

    def schedule(self, state: bytes, word: int) -> tuple[int, ...]:
        """The fine steps to one that was found."""
        words = [word]
        while state in self.ways:
            state, before = self.ways[state]
            words.append(before)
        return tuple(reversed(words))

    def run(self, seconds: float | None) -> Refinement:
        """Breadth first over the fine text, every step looked at."""
        result, end = Refinement(), Deadline(seconds)
        first = self.fine.model.program.initial().key()
        known, level = {first}, [first]
        while level and not result.broken:
            following: list[bytes] = []
            for state in level:
                if end.over():
                    return result
                following += self.step_from(state, known, result)
                if result.broken:
                    return result
            level = following
        result.complete = True
        result.longest = self.longest_stutter()
        return result

    def step_from(self, state: bytes, known: set[bytes], result: Refinement) -> list[bytes]:
        """Every step from a state, held against the coarse text; the states that are new."""
        new: list[bytes] = []
        image = self.image(state)
        result.states += 1
        for word, after in self.fine.next_states(state):
            after = after[: self.size]
            result.steps += 1
            seen = self.image(after)
            if seen == image:
                result.hidden += 1
                self.stutters.setdefault(state, []).append(after)
            elif seen not in self.coarse_after(image):
                result.broken = self.schedule(state, word)
                return new
            if after not in known:
                known.add(after)
                self.ways[after] = (state, word)
                new.append(after)
        return new

    def longest_stutter(self) -> int:
        """The most hidden steps in a row.

        Raises:
            AssertionError: they go in a circle, so that there is no most.
        """
        most: dict[bytes, int] = {}
        for root in self.stutters:
            ahead = [(root, False)]
            open_: set[bytes] = set()
            while ahead:
                state, left = ahead.pop()
                if left:
                    open_.discard(state)
                    most[state] = max((1 + most[n] for n in self.stutters.get(state, ())), default=0)
                elif state not in most:
                    open_.add(state)
                    ahead.append((state, True))
                    for n in self.stutters.get(state, ()):
                        assert n not in open_, "hidden steps go in a circle"
                        if n not in most:
                            ahead.append((n, False))
        return max(most.values(), default=0)


def refines(configuration: Configuration, seconds: float | None = None, logged: bool = False) -> Refinement:
    """Whether the election with votes refines that of one step, from every state within the budgets.

    Args:
        seconds: how long it may take; then nothing is said.
        logged: ask it of the mutant.
    """
    return RefinementQuery(WithVotes(configuration, logged), Model(configuration)).run(seconds)
