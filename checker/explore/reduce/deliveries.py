"""Judge properties of delivered transactions at the delivery (docs/explanation/reductions.md).

States that differ in who delivered what must stay distinct as long as some property is evaluated on every state. If a
property follows from others that read only what is delivered by a step, these are judged instead, and states that
differ in the rest are merged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

from checker.explore.result import Exploration
from invariants.registry import NO_RUNTIME_ERROR, Property
from zabspec.authoring.declaration import ProtocolError
from zabspec.language import Field
from zabspec.language.python.reference import StateView
from zabspec.model import Model
from zabspec.worlds import deliveries


class DeliveryModel(Model):
    """A model each of whose steps records what it delivers."""

    @property
    def extension(self) -> str:
        return "what a step delivers"

    @property
    def observing(self) -> tuple[ModuleType, ...]:
        return (*super().observing, deliveries)

    @property
    def also_said(self) -> tuple[Field, ...]:
        return deliveries.delivery_fields(self.configuration.txns)


def may_say(model: Model) -> bool:
    """Return whether steps may record what they deliver: no name in the user's source conflicts with that."""
    try:
        DeliveryModel(model.configuration).program  # noqa: B018 (it is made, and kept by nobody)
    except ProtocolError:
        return False
    return True


@dataclass(frozen=True)
class AtDelivery:
    """Which properties are judged by the properties that they follow from.

    Attributes:
        judged: all that a report judges.
        replaced: those that are judged by others.
    """

    judged: tuple[Property, ...]
    replaced: tuple[Property, ...]

    @classmethod
    def of(cls, model: Model, judged: Sequence[Property], unmet: Collection[str]) -> AtDelivery:
        """Return which properties to judge that way: those that follow from others, and whose premise is already met.

        There are none if a run may begin with something delivered, or if steps cannot record what they deliver.
        """
        starts = (StateView(model.program.layout, data) for data in model.program.starts)
        begins_empty = model.protocol.transactions and not any(len(d) for s in starts for d in s.delivered)
        replaced = tuple(p for p in judged if p.follows_from and p.name not in unmet)
        return cls((*judged,), replaced if replaced and begins_empty and may_say(model) else ())

    @property
    def asked(self) -> tuple[Property, ...]:
        """The properties that a search judges."""
        kept = [p for p in self.judged if p not in self.replaced]
        implying = dict.fromkeys(q for p in self.replaced for q in p.follows_from)
        return (*kept, *(p for p in implying if p not in kept))

    def believed(self, r: Exploration) -> bool:
        """Return whether a search is conclusive for the replaced properties: it violated none of their replacements."""
        return not {p.name for p in self.asked if p not in self.judged} & {*r.violations, *r.suspected}

    def told(self, r: Exploration) -> Exploration:
        """Return the result of a search as a report has it: without verdicts on the replacing properties."""
        names = {p.name for p in self.judged}
        how = f"; {' and '.join(p.name for p in self.replaced)} checked at deliveries"
        return replace(
            r,
            properties=self.judged,
            witnessed={name: depth for name, depth in r.witnessed.items() if name in names},
            violations={name: v for name, v in r.violations.items() if name in (*names, NO_RUNTIME_ERROR.name)},
            suspected=tuple(name for name in r.suspected if name in (*names, NO_RUNTIME_ERROR.name)),
            merged=r.merged and r.merged + (how if self.replaced else ""),
        )
