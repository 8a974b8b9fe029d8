"""Define the interface of a world: what it provides to a protocol in the explorer and the simulator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

from zabspec.configuration import Parameters
from zabspec.language import Field, Int, MessageUnion
from zabspec.roles import MOST_PROCESSES
from zabspec.worlds.steps import BUDGETS, Budget

if TYPE_CHECKING:
    from zabspec.language.layout.conventions import Conventions

Capacity = tuple[int, int]  # the most messages in a channel to a leader, and to a follower


class World(ABC):
    """A world that protocols run in.

    Attributes:
        name: its name, in rows of `worlds/steps.py` and in sentences: a protocol speaks over it.
        text: the explorer's module: its steps, and the functions that it provides to handlers.
        simulated: the module with the simulator's network.
        networks: by name the number by which the modules know it; the first is the default.
        lacks: faults of the simulator's schedule that it does not have.
        trusted: the modules whose functions `conventions` mentions.
        most_nodes: the maximum number of processes, and why there cannot be more.
    """

    name: ClassVar[str]
    text: ClassVar[ModuleType]
    simulated: ClassVar[ModuleType]
    networks: ClassVar[Mapping[str, int]]
    lacks: ClassVar[frozenset[str]] = frozenset()
    trusted: ClassVar[frozenset[str]] = frozenset()
    most_nodes: ClassVar[tuple[int, str]] = (
        MOST_PROCESSES,
        "21! renamings do not fit a word of 64 bits",
    )

    @property
    def budgets(self) -> dict[str, Budget]:
        """Return the world's budgets, by name."""
        return {name: b for name, b in BUDGETS.items() if self.name in b.usual}

    # --- the explorer's ----------------------------------------------------------------------------

    @abstractmethod
    def envelope(self, nodes: int, capacity: Capacity) -> Mapping[str, Int]:
        """Return the fields that the world writes on every message."""

    @abstractmethod
    def fields(self, c: Parameters, message: MessageUnion, capacity: Capacity) -> tuple[Field, ...]:
        """Return the world's fields of the state."""

    @abstractmethod
    def epochs(self, c: Parameters) -> int:
        """Return the largest epoch within the budgets."""

    @abstractmethod
    def capacity(self, c: Parameters) -> Capacity:
        """Return the default channel capacities, in messages: to a leader, to a follower."""

    @abstractmethod
    def most_steps(self, c: Parameters, capacity: Capacity) -> int:
        """Return an upper bound of the number of steps, counted with their choices, of any state."""

    def in_order(self, c: Parameters) -> bool:
        """Return whether a step takes only the first message of a channel."""
        return False

    @abstractmethod
    def log(self, c: Parameters) -> int:
        """Return the maximum length of a history."""

    def why_not_inside(self, c: Parameters, capacity: Capacity) -> str:
        """Return why a step word cannot express a failure within a step, in a sentence; empty if it can."""
        return ""

    def conventions(self, c: Parameters, message: MessageUnion) -> Conventions | None:
        """Return the conventions from which it follows which steps commute, or None."""
        return None

    # --- the simulator's ---------------------------------------------------------------------------

    @abstractmethod
    def simulated_envelope(self, nodes: int) -> Mapping[str, Int]:
        """Return the fields that the simulator's network writes on every message."""

    @abstractmethod
    def simulated_fields(self) -> tuple[Field, ...]:
        """Return the fields of the simulator's network."""
