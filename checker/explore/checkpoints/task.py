"""What a checkpoint belongs to: the parameters of an exploration."""

from __future__ import annotations

import dataclasses
from typing import Any

from zabspec.model import Configuration


@dataclasses.dataclass(frozen=True)
class Reduction:
    """How a search leaves out states.

    Attributes:
        wanted: the properties whose premises are not met yet, by name, in order.
        merging: whether states that differ only in ghosts are merged.
        deliveries: whether each step records what it delivers.
        ample: whether the steps of one process may be enough.
    """

    wanted: tuple[str, ...]
    merging: bool
    deliveries: bool
    ample: bool = True


@dataclasses.dataclass(frozen=True)
class ExplorationTask:
    """The parameters of an exploration that a checkpoint belongs to.

    Attributes:
        configuration: protocol, sizes and budgets.
        properties: the names of those that are judged, in the order of the bits of every mask.
        symmetry: whether renamings of a state count once.
        wide: whether fingerprints have 128 bits.
        parts: the number of owners; a power of two.
        version: of the program, the value of `Code.digest`.
        every_step: whether stuttering receipts are steps like others, where they are possible; None if they are not, or
            if an older version did not record it.
        reduction: how states are left out; None if every state is visited.
        engine: which engine explores, as `--engine` names it.
    """

    configuration: Configuration
    properties: tuple[str, ...]
    symmetry: bool
    wide: bool
    parts: int
    version: str
    every_step: bool | None = None
    reduction: Reduction | None = None
    engine: str = "spark"

    @property
    def bits(self) -> int:
        """The number of bits of a fingerprint."""
        return 128 if self.wide else 64

    def as_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "properties": list(self.properties)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ExplorationTask:
        """Build a task from its JSON form.

        Raises:
            ValueError, TypeError, KeyError: the form is not that of a task, or not of this version.
        """
        values = {**data, "configuration": Configuration(**data["configuration"])}
        if how := data.get("reduction"):
            values["reduction"] = Reduction(**{**how, "wanted": tuple(how["wanted"])})
        return cls(**{**values, "properties": tuple(data["properties"])})
