"""Determine the properties that a request checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.report.answer import Listed, listed
from checker.requests.base.model import Containing, ListedProtocol, protocol_named
from checker.requests.base.request import Request, function, names_in
from checker.requests.base.watch import QUIET, Watch
from zabspec.properties import DEADLOCK
from zabspec.typed import near

if TYPE_CHECKING:
    from invariants.registry import Property

LITERAL = "invariant-5-literal"


@dataclass(frozen=True)
class Properties(Request):
    """List the properties, where the papers state them, and their premises.

    With WORDs, list only properties whose description has all of them: zabcheck properties primary order.
    """

    kind: ClassVar[str] = "properties"

    containing: Containing = ()
    protocol: ListedProtocol = None

    def answer(self, watch: Watch = QUIET) -> Listed:
        from invariants import NO_RUNTIME_ERROR, PROPERTIES, known_properties

        protocol = None if self.protocol is None else str(self.protocol)
        own = protocol is not None and not protocol_named(protocol).declared.bounded_by_world
        rows = []
        for p in (
            PROPERTIES if protocol is None else (*known_properties(protocol), *([NO_RUNTIME_ERROR] if own else []))
        ):
            if protocol is not None and not p.judges(protocol):
                continue
            name = p.name if p.default else f"{p.name} ({'always' if p is NO_RUNTIME_ERROR else 'only if named'})"
            rows.append((name, p.source, p.premise, p.statement))
        found = listed(("property", "source", "premise", "statement"), rows, names_in(self.containing), "property")
        for row in found.content:
            name, _, when = row["property"].partition(" (")
            row |= {"property": name, "judged": when.rstrip(")") or "by default"}
        return found


properties = function(Properties)


def chosen_properties(
    names: Sequence[str], protocol: str, passes: bool = False, deadlock: bool = False
) -> list[Property]:
    """Return the properties of some names, or all that are checked by default.

    Args:
        passes: whether the checked states keep the passes that processes gave up.
        deadlock: whether deadlock is checked beside them.

    Raises:
        RequestError: there is no such property, it is named twice, or the protocol claims none.
    """
    from invariants import NO_RUNTIME_ERROR, known_properties, property_named

    known, chosen = known_properties(protocol), []
    for name in names:
        if names.count(name) > 1:
            raise RequestError(f"--property {name} is given twice")
        try:
            chosen.append(property_named(name, known))
        except KeyError:
            hint = near(name, [p.name for p in known]) or f"; {properties_command(protocol)} lists them"
            raise RequestError(f"there is no property {name!r}{hint}") from None
        if chosen[-1].passes and not passes:
            raise RequestError(f"{name} is checked by `zabcheck --property {name}` only")
        if not chosen[-1].judges(protocol):
            raise RequestError(f"{name} is about the state of {' and '.join(chosen[-1].protocols)}, not of {protocol}")
    usual = [p for p in known if p.judges(protocol) and (p.default or (deadlock and p.name == DEADLOCK))]
    if deadlock and DEADLOCK not in [p.name for p in known]:
        said = "over connections and with transactions budgets end runs: mark with @final where one may end"
        raise RequestError(f"--deadlock: {protocol} does not say where a run may end; {said}")
    if deadlock and chosen and DEADLOCK not in names:
        chosen += [p for p in usual if p.name == DEADLOCK]
    if NO_RUNTIME_ERROR in chosen:  # it is built in, and always checked
        return [p for p in chosen if p != NO_RUNTIME_ERROR]
    named = [p.name for p in known if p.judges(protocol) and p.name != DEADLOCK]
    if not chosen and not usual and named:
        raise RequestError(f"{protocol} has no property that is checked by default: name one, {named[0]} for instance")
    if not chosen and not usual:
        raise RequestError(f"{protocol} declares no property: mark one with @safety(witness=...)")
    return chosen or usual


def properties_command(protocol: str) -> str:
    """Return the command that lists the properties of a protocol."""
    from zabspec.authoring.sources import is_elsewhere

    return f"`zabcheck properties --protocol {protocol}`" if is_elsewhere(protocol) else "`zabcheck properties`"


def required_witnesses(given: Sequence[str], judged: Sequence[str]) -> list[str]:
    """Return the properties whose premise must be reached.

    Args:
        given: names, several between commas; `all` for all.

    Raises:
        RequestError: one is not checked.
    """
    names = [name.strip() for words in given for name in words.split(",")]
    for name in names:
        if name not in (*judged, "all"):
            hint = near(name, judged) or f"; there are all, {', '.join(judged)}"
            raise RequestError(f"--require-witness {name}: no such property is checked{hint}")
    return list(judged) if "all" in names else names
