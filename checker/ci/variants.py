"""The recorded expectations of the project's protocol variants.

For each variant they are those of the first entry of the gallery that explores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any

from checker.ci.configuration import Check
from checker.ci.shipped import written
from invariants import PROPERTIES
from zabspec.model import Configuration

ORDER = {p.name: k for k, p in enumerate(PROPERTIES)}
NAMED = ("protocol", "variant")  # the fields of a configuration that identify the model


@dataclass(frozen=True)
class Shown:
    """The configuration in which a variant is shown, and what is expected there.

    Attributes:
        variant: its name.
        check: the entry.
    """

    variant: str
    check: Check

    @property
    def beside(self) -> tuple[str, ...]:
        """The variants that the entry combines with it."""
        return tuple(name for name in taken(self.check) if name != self.variant)

    @property
    def within(self) -> Mapping[str, Any]:
        """The fields of a configuration that bound its size, in their order."""
        given = self.check.values
        return {f.name: given[f.name] for f in fields(Configuration) if f.name in given and f.name not in NAMED}

    @property
    def configuration(self) -> Configuration:
        """The configuration that the variant is shown in."""
        return Configuration(self.check.values["protocol"], ",".join(taken(self.check)), **self.within)

    @cached_property
    def breaks(self) -> Mapping[str, int]:
        """The violated properties, with the lengths of their shortest counterexamples.

        They are sorted by length, then in the order of `invariants.PROPERTIES`.
        """
        found = self.check.expect.violated
        return {name: found[name] for name in sorted(found, key=lambda name: (found[name], ORDER[name]))}

    @property
    def why(self) -> str:
        """Why it violates a property, or why it does no harm; empty if the entry's story says so."""
        return self.check.why


def taken(check: Check) -> list[str]:
    """Return the variants of a check, those that repair a rule last."""
    given = f"{check.values.get('variant', '')},{check.values.get('repair', '')}"
    return [name for name in given.split(",") if name]


@cache
def shown(protocol: str) -> Mapping[str, Shown]:
    """Return by the names of a protocol's variants where each is shown.

    Args:
        protocol: one of this project, by its name.
    """
    out: dict[str, Shown] = {}
    for check in (c for mine in written().values() for c in mine):
        if check.values["protocol"] == protocol and check.explores:
            for name in taken(check):
                out.setdefault(name, Shown(name, check))
    return out
