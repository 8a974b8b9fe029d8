"""The modules with clauses about a protocol. The core finds this by an entry point."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from invariants.proofs import MODULES, datagrams

if TYPE_CHECKING:
    from zabspec.protocols.registry import Protocol


def modules_for(protocol: Protocol) -> tuple[ModuleType, ...]:
    """Return the modules with clauses about a protocol, which an engine's names then include."""
    from invariants.proofs.argument import is_whole

    if is_whole(protocol.name):
        return MODULES
    return (datagrams,) if protocol.claims or not protocol.declared.replicas else ()
