"""Describe the forecast of an audit in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checker.plain_text import one_line
from traces.zookeeper.audit.findings import DANGER
from traces.zookeeper.audit.folding import ELECTIONS, is_open
from traces.zookeeper.audit.forecast import Change, Forecast, ForecastOutcome, LastCopy, Ranges

OK, UNKNOWN = "OK", "UNKNOWN"


def verdict_of(ahead: Forecast) -> str:
    """Return UNKNOWN if nothing can be predicted, DANGER if some start cuts possibly acknowledged writes, else OK."""
    if ahead.unknown:
        return UNKNOWN
    return DANGER if ahead.losing else OK


def forecast_lines(ahead: Forecast) -> list[str]:
    """Return the lines on the possible outcomes of starting these servers."""
    head = "What can happen next, once all servers are stopped and then started from exactly these files"
    head += f" ({ahead.release}; no client writes, and nothing else fails):"
    if ahead.unknown:
        return [head, f"  UNKNOWN: {ahead.unknown}. Treat every start as dangerous until it is known."]
    out = [summed(ahead)]
    out += [last_copy_words(copy, ahead) for copy in ahead.last_copies]
    out += [outcome_words(same, ahead) for same in grouped(ahead.outcomes)]
    if not ahead.at_once:
        out.append("More servers at once: not explored in every order. If no election fails, they end so, too.")
    if ahead.cut_off:
        out.append(f"Runs in which {ELECTIONS} elections fail are not explored further.")
    if ahead.losing:
        shortest = min(ahead.losing, key=lambda o: len(o.run))
        out.append(f"How {named(shortest.started)} lose it: {'; '.join(shortest.run)}.")
    return [head, *(f"  {said}" for said in out)]


def summed(ahead: Forecast) -> str:
    """Return what to know before any server is started."""
    if not ahead.outcomes:
        return "Those of them that start are not a quorum: no server is elected, and nothing is truncated."
    if ahead.losing:
        bad = list(dict.fromkeys(named(o.started) for o in ahead.losing))
        good = [n for n in dict.fromkeys(named(o.started) for o in ahead.outcomes if o.leader) if n not in bad]
        said = f"DANGER: acknowledged writes can be truncated. Do not start these first: {'; '.join(bad)}."
        return (
            f"{said} Started first, these truncate none: {'; '.join(good)}; start the others when these serve."
            if good
            else said
        )
    if not any(o.leader for o in ahead.outcomes):
        return "No elected server stays leader: the ensemble does not begin to serve, and nothing is truncated."
    said = "OK: by these files, whichever quorum starts first, no write that may have been acknowledged is truncated."
    if lacking := dict.fromkeys(c.server for o in ahead.outcomes for c in (*o.changes, *o.later) if c.vanish):
        said += f" But the tree of {', '.join(lacking)} lacks nodes that others have."
    apart = dict.fromkeys(c.server for o in ahead.outcomes for c in (*o.changes, *o.later) if c.keeps)
    if apart:
        said += f" But trees can differ afterwards: {', '.join(apart)} can continue with what its leader does not have."
    return said


def grouped(outcomes: Sequence[ForecastOutcome]) -> Iterator[list[ForecastOutcome]]:
    """Return outcomes grouped by the same servers, which differ only in the leader."""
    seen: dict[str, list[ForecastOutcome]] = {}
    for o in outcomes:
        key = repr(
            (o.started, bool(o.leader), o.last, o.loses, o.may_lose, o.drops, o.revives, o.again, o.vanish, odd(o))
        )
        seen.setdefault(key, []).append(o)
    yield from seen.values()


def odd(o: ForecastOutcome) -> list[str]:
    """Return what happens to single servers, if it is more than receiving what is missing."""
    out = [text for c in o.changes if (text := change_words(c))]
    return [*out, *(text for c in o.later if (text := change_words(c, " when it is started later")))]


def outcome_words(same: Sequence[ForecastOutcome], ahead: Forecast) -> str:
    one = same[0]
    first = f"{named(one.started)}: "
    if not one.leader:
        return first + "; ".join(["nobody leads for good", *odd(one)]) + "."
    leaders = " or ".join(dict.fromkeys(o.leader for o in same))
    epochs = " or ".join(dict.fromkeys(str(o.epoch) for o in same))
    said = [f"{leaders} leads epoch {epochs}, with a history up to 0x{one.last:x}"]
    if one.loses:
        said.append(f"LOSES {ranges(one.loses, ahead)}, which a quorum of these disks has")
    if one.may_lose:
        said.append(f"LOSES {ranges(one.may_lose, ahead)}, which may have been acknowledged")
    if one.drops:
        said.append(f"drops {ranges(one.drops, ahead)}, which less than a quorum has")
    if one.revives:
        said.append(f"brings {ranges(one.revives, ahead)} back, which less than a quorum has")
    if one.again:
        said.append(
            f"begins epoch {one.epoch} A SECOND TIME: {', '.join(one.again)} has transactions of it, new writes get "
            f"the same zxids, and it may keep its own instead"
        )
    if one.vanish:
        paths = [*map(one_line, one.vanish[:3]), *(["..."] if len(one.vanish) > 3 else [])]
        without = dict.fromkeys(c.server for o in same for c in (*o.changes, *o.later) if c.vanish)
        said.append(f"LOSES {len(one.vanish)} nodes, which the tree of {', '.join(without)} lacks: {', '.join(paths)}")
    if not (one.loses or one.may_lose or one.drops or one.revives or one.vanish):
        said.append("nothing is truncated")
    return first + "; ".join([*said, *odd(one)]) + "."


def change_words(c: Change, when: str = "") -> str:
    """Return what happens to a server; empty if it serves, and loses nothing of its own."""
    if not c.serves:
        return f"{c.server}{when} does not serve: {c.why}" + (f", and cuts {ranges(c.cuts)}" if c.cuts else "")
    said = [f"cuts {ranges(c.cuts)}"] if c.cuts else []
    said += [f"continues with {ranges(c.keeps)}, which its leader does not have: trees differ"] if c.keeps else []
    return f"{c.server}{when} {' and '.join(said)}" if said else ""


def last_copy_words(copy: LastCopy, ahead: Forecast) -> str:
    has = "has the last copy" if len(copy.servers) == 1 else "have the last copies"
    return (
        f"{', '.join(copy.servers)} {has} of {ranges([(copy.lo, copy.hi)], ahead)}, which may have been acknowledged."
    )


def named(servers: Sequence[str]) -> str:
    return " and ".join([", ".join(servers[:-1]), servers[-1]] if len(servers) > 1 else servers)


def ranges(found: Ranges, ahead: Forecast | None = None) -> str:
    """Return transactions as ZooKeeper writes them, the first of each range with its path if that is known."""
    said = []
    for lo, hi in found:
        path = one_line(ahead.paths.get(lo, "")) if ahead is not None else ""
        if is_open(hi):
            said.append(f"what only snapshots can have from 0x{lo:x} on, before epoch {(hi >> 32) + 1}")
            continue
        said.append((f"0x{lo:x}" if lo == hi else f"0x{lo:x}..0x{hi:x}") + (f" ({path})" if path else ""))
    return ", ".join(said)
