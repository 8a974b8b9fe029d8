# One of zabcheck's five packages.
"""State the properties, by the paper's names, each once, in the language, over the observed history or the state.

Start with `core.py`. A property (`registry.py`) is a function that returns whether a state or a step satisfies it, with
the paper's statement as its docstring and a witness, which returns whether its premise is met there. `PROPERTIES` has
them all. Another file here with PROPERTIES of its own is found by that, and a module elsewhere by an entry point of the
group `zabcheck.properties`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from invariants import analysis, causality, claims, core, durability, ladis
from invariants.registry import HISTORY, NO_RUNTIME_ERROR, Property, property_named
from zabspec.authoring.declaration import ConfigError
from zabspec.joining import NotInstalled, joined, load
from zabspec.protocols.registry import PROTOCOLS

OF_THE_PAPERS = (core, causality, ladis, analysis, claims, durability)
NO_PROPERTIES = ("binding", "proofs", "registry")


def found_beside() -> tuple[ModuleType, ...]:
    """Import the other modules of this package that have properties."""
    known = {m.__name__.rpartition(".")[2] for m in OF_THE_PAPERS} | set(NO_PROPERTIES)
    names = sorted(m.name for m in iter_modules(__path__) if m.name not in known)
    return tuple(import_module(f"{__name__}.{name}") for name in names)


def found_joined() -> Iterator[ModuleType]:
    """Import the modules that entry points name, of those that are installed."""
    for point in joined("properties").values():
        with suppress(NotInstalled):
            yield load(point)


JOINED = tuple(found_joined())
OTHERS = (*found_beside(), *(m for m in JOINED if hasattr(m, "PROPERTIES")))
OF_PAPERS: tuple[Property, ...] = tuple(p for m in OF_THE_PAPERS for p in m.PROPERTIES)
PROPERTIES: tuple[Property, ...] = (*OF_PAPERS, *(p for m in OTHERS for p in m.PROPERTIES))
MODULES = (*OF_THE_PAPERS, *OTHERS)


def known_properties(protocol: str) -> tuple[Property, ...]:
    """Return the properties that runs of a protocol can be checked against, with deadlock, which a request may add.

    Raises:
        KeyError, ConfigError: as for `properties_of`.
    """
    return tuple(dict.fromkeys((*properties_of(protocol), *PROTOCOLS[protocol].text.deadlock)))


def properties_of(protocol: str) -> tuple[Property, ...]:
    """Return the properties that runs of a protocol can be checked against.

    They are those of atomic broadcast, if it declares replicas, and those of its own source.

    Raises:
        KeyError: there is no such protocol.
        ConfigError: a module gives a property a name that another has, so that the two would be confused.
    """
    found = PROTOCOLS[protocol]
    names = [p.name for p in PROPERTIES]
    for p in PROPERTIES:
        if names.count(p.name) > 1:
            where = " and ".join(sorted({q.holds.__module__ for q in PROPERTIES if q.name == p.name}))
            raise ConfigError(f"two properties are called {p.name} ({where}): rename one of them")
    own = (*found.claims, *(p for p in found.text.deadlock if p.default))
    if found.declared.replicas:
        return (*PROPERTIES, *own)
    return (*(p for p in PROPERTIES if found.transactions and p.of == HISTORY and not p.protocols), *own)


__all__ = [
    "JOINED",
    "MODULES",
    "NO_RUNTIME_ERROR",
    "OF_PAPERS",
    "PROPERTIES",
    "Property",
    "known_properties",
    "properties_of",
    "property_named",
]
