"""List what a user can choose from: the protocols' variants, and the properties."""

from __future__ import annotations

from collections.abc import Sequence

from checker.ci.variants import shown
from checker.errors import RequestError
from checker.report.result import StatedResult, Table, plural
from checker.requests.model import protocol_named

NOBODY_SAID = {True: "nothing within it", False: ""}  # for a user protocol an exploration shows the violations
Rows = list[tuple[str, ...]]


def variants_listed(words: Sequence[str] = (), protocol: str | None = None) -> StatedResult:
    """Return the variants, each with what it changes, which property it violates, and within which bounds.

    Args:
        words: only those that have all of them, in any column and in any case.
        protocol: only variants of this one; None for all protocols of the project.

    Raises:
        RequestError: there is no such protocol, or no such variant.
    """
    from zabspec.protocols.registry import NAMES, PROTOCOLS

    known = {module: name for name, module in NAMES.items()}
    rows: Rows = []
    for chosen in [protocol_named(protocol)] if protocol is not None else PROTOCOLS.values():
        module = chosen.declared.module
        entries = shown(known[module]) if module in known else {}  # nothing is recorded for user protocols
        for name, v in chosen.variants.items():
            there = entries.get(name)
            beside, given = (there.beside, there.within) if there is not None else ((), {})
            budget = " ".join(
                ([f"--repair {','.join(beside)}"] if beside else [])
                + [f"--{field.replace('_', '-')} {value}" for field, value in given.items()]
            )
            found = there.breaks if there is not None else ()
            breaks = "nothing: it holds" if v.safe else ", ".join(found) or NOBODY_SAID[bool(given)]
            why = " ".join(there.why.split()) if there is not None else ""
            rows.append((chosen.name, name, v.rule, breaks, budget, " ".join(v.summary.split()), why))
    head = ("protocol", "variant", "rule", "breaks", "shown within", "what is changed", "why")
    return listed(head, rows, words, "variant")


def properties_listed(words: Sequence[str] = (), protocol: str | None = None) -> StatedResult:
    """Return the properties, each with its source, its premise, and its statement.

    Args:
        words, protocol: as for `variants_listed`.

    Raises:
        RequestError: there is no such protocol, or no such property.
    """
    from invariants import NO_RUNTIME_ERROR, PROPERTIES, properties_of

    own = protocol is not None and not protocol_named(protocol).declared.bounded_by_world
    rows: Rows = []
    for p in PROPERTIES if protocol is None else (*properties_of(protocol), *([NO_RUNTIME_ERROR] if own else [])):
        if protocol is not None and not p.judges(protocol):
            continue
        name = p.name if p.default else f"{p.name} ({'always' if p is NO_RUNTIME_ERROR else 'only if named'})"
        rows.append((name, p.source, p.premise, p.statement))
    found = listed(("property", "source", "premise", "statement"), rows, words, "property")
    for row in found.content:
        name, _, when = row["property"].partition(" (")
        row |= {"property": name, "judged": when.rstrip(")") or "by default"}
    return found


def listed(head: tuple[str, ...], rows: Rows, words: Sequence[str], what: str) -> StatedResult:
    """Return the rows that contain all of some words.

    Raises:
        RequestError: no row does.
    """
    found = [row for row in rows if all(word.lower() in " ".join(row).lower() for word in words)]
    if words and not found:
        raise RequestError(f"no {what} is described with {' and '.join(map(repr, words))}")
    content = [{name.replace(" ", "_"): cell for name, cell in zip(head, row, strict=True)} for row in found]
    return StatedResult(plural(len(found), what), content=content, body=[Table(found, head)], kind="listed")
