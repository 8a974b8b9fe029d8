"""The properties, by the paper's names; each written once, in the language, over the observed
history or over the state of the protocol.

`PROPERTIES` has them all. A property is a function that says whether a state (or a step) keeps
it, with the paper's statement as its docstring, and a witness: whether its premise is true there.
"""

from __future__ import annotations

from invariants import analysis, causality, claims, core, durability, inductive, ladis
from invariants.registry import Property, property_named

PROPERTIES: tuple[Property, ...] = (
    *core.PROPERTIES,
    *causality.PROPERTIES,
    *ladis.PROPERTIES,
    *analysis.PROPERTIES,
    *claims.PROPERTIES,
    *durability.PROPERTIES,
)

MODULES = (core, causality, ladis, analysis, claims, durability, *inductive.MODULES)

__all__ = ["MODULES", "PROPERTIES", "Property", "property_named"]
