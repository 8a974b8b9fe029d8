"""The properties, by the paper's names; each written once, in the language, over the observed
history or over the state of the protocol.

`PROPERTIES` has them all. A property is a function that says whether a state (or a step) keeps
it, with the paper's statement as its docstring, and a witness: whether its premise is true there.
"""

from __future__ import annotations

from invariants import analysis, causality, claims, core, durability, inductive, ladis
from invariants.registry import HISTORY, Property, property_named
from zabspec.protocols import PROTOCOLS

PROPERTIES: tuple[Property, ...] = (
    *core.PROPERTIES,
    *causality.PROPERTIES,
    *ladis.PROPERTIES,
    *analysis.PROPERTIES,
    *claims.PROPERTIES,
    *durability.PROPERTIES,
)

MODULES = (core, causality, ladis, analysis, claims, durability, *inductive.MODULES)


def properties_of(protocol: str) -> tuple[Property, ...]:
    """The properties that runs of a protocol can be judged by: those of atomic broadcast, if it is one, and those
    that its own text claims.

    Raises:
        KeyError: there is no such protocol.
    """
    found = PROTOCOLS[protocol]
    if found.text is None:
        return PROPERTIES
    return (
        *(p for p in PROPERTIES if found.transactions and p.of == HISTORY and not p.protocols),
        *(Property.of_claim(c, found.text.source) for c in found.claims),
    )


__all__ = ["MODULES", "PROPERTIES", "Property", "properties_of", "property_named"]
