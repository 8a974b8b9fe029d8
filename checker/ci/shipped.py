"""The gallery: the matrix that comes with the package, of what the sources claim and of variants that violate it.

Its entries in `gallery/` are ordinary checks, a file for each source. `measured.json` has the CPU seconds that each
took when it was last measured: `python -m benchmarks.gallery` writes it. A person only writes what an entry expects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from checker.ci.configuration import Check, Matrix, MatrixError, read_matrix
from checker.ci.judging import NOT_RUN, CheckOutcome, expected
from checker.ci.keys import VIOLATED
from checker.ci.result import Checked, row, traces_of
from checker.report.result import Part
from traces.explain.folding import folded
from zabspec.protocols.registry import NAMES, PROTOCOLS
from zabspec.typed import near

if TYPE_CHECKING:
    from traces import Trace

FOLDER = Path(__file__).parent / "gallery"
MEASURED = FOLDER / "measured.json"
MANY = 30_000_000  # states: an unmeasured entry that is expected to have more is heavy
HEAVY = 60.0  # CPU seconds: an entry that takes longer runs only with --all, or by its name
TITLES = {
    "dsn11": "ZAB as DSN'11 states it",
    "variants": "ZAB with one rule changed",
    "live": "Liveness: which processes make progress once faults stop",
    "networks": "ZAB over channels weaker than the papers assume",
    "ladis08": "ZAB as LADIS'08 describes it",
    "takeover": "When a new leader takes over",
    "tree": "A replicated tree above the broadcast",
    "db19": "The lab db-19",
    "examples": "Single-file protocols",
    "others": "Other broadcast protocols",
}


@dataclass(frozen=True)
class Gallery:
    """The entries of the gallery.

    Attributes:
        matrix: all of them.
        groups: by the name of a file, the names of its entries.
    """

    matrix: Matrix
    groups: dict[str, tuple[str, ...]]

    def named(self, names: Iterable[str], source: str = "", heavy: bool = False) -> dict[str, str]:
        """Return the entries to skip when some are selected, each with the reason.

        Args:
            names: of entries, or of groups; without any, all.
            source: a word of what an entry cites, or of where it is claimed.
            heavy: whether to include those that take long.

        Raises:
            MatrixError: there is nothing of that name, or no entry of that source.
        """
        entries = {c.name: c for c in self.matrix.checks}
        wanted: set[str] = set()
        for name in names:
            if name not in entries and name not in self.groups:
                hint = near(name, [*self.groups, *entries]) or f"; there are {', '.join(self.groups)}, and --list"
                raise MatrixError(f"the gallery has no entry {name!r}{hint}")
            wanted |= {name} if name in entries else set(self.groups[name])
        one_by_one = {name for name in names if name in entries}
        out = {name: "another entry was requested" for name in entries if names and name not in wanted}
        if source:
            cited = {c.name for c in entries.values() if source.lower() in f"{c.expect.stated} {c.where}".lower()}
            if not cited - out.keys():
                raise MatrixError(f"no entry cites {source!r}")
            out |= {name: f"it does not cite {source}" for name in entries if name not in cited}
        for c in entries.values():
            if is_heavy(c) and not heavy and c.name not in one_by_one:
                took = f"it took {c.seconds:.0f} CPU seconds when it was last measured"
                took = took if c.seconds else f"it was never measured, and has {c.expect.states:,} states"
                out.setdefault(c.name, f"{took}: --all, or by its name")
        return out


def is_heavy(c: Check) -> bool:
    """Return whether an entry takes more than a minute of a core."""
    return c.seconds > HEAVY or (not c.seconds and (c.expect.states or 0) > MANY)


@cache
def written() -> Mapping[str, tuple[Check, ...]]:
    """Return the entries as they are written, by the name of their file.

    Raises:
        MatrixError: a file of the package is damaged.
    """
    paths = {name: FOLDER / f"{name}.toml" for name in TITLES}
    return {name: read_matrix(path).checks for name, path in paths.items() if path.is_file()}


@cache
def measured() -> Mapping[str, float]:
    """Return the CPU seconds that each entry took when it was last measured, by its name."""
    content = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.is_file() else {}
    return {name: float(seconds) for name, seconds in content.items()}


@cache
def gallery() -> Gallery:
    """Return the entries that come with the package, with their stories and costs.

    Raises:
        MatrixError: a file of the package is damaged.
    """
    checks: list[Check] = []
    groups = {}
    for name, mine in written().items():
        checks += [replace(c, seconds=measured().get(c.name, 0.0)) for c in mine]
        groups[name] = tuple(c.name for c in mine)
    reasons = {of_variant(c): c.why for c in checks if c.why}
    checks = [c if c.story else replace(c, story=told(c, reasons)) for c in checks]
    names = [c.name for c in checks] + list(groups)
    for name in names:
        if names.count(name) > 1:
            raise MatrixError(f"the gallery has {name} twice")
    return Gallery(Matrix(Path("the gallery"), tuple(checks)), groups)


def of_variant(c: Check) -> tuple[str, str]:
    """Return the protocol and the variant of an entry."""
    return str(c.values["protocol"]), str(c.values.get("variant", ""))


def told(c: Check, reasons: Mapping[tuple[str, str], str]) -> str:
    """Return a story for an entry without one: what its variant changes, and why that matters.

    For an entry that explores on past a violation that another entry records, it says why.

    Args:
        reasons: by protocol and variant.

    Raises:
        MatrixError: no reason is recorded.
    """
    protocol, name = of_variant(c)
    variant = PROTOCOLS[protocol].variants.get(name) if protocol in NAMES else None
    if variant is None or (protocol, name) not in reasons:
        raise MatrixError(f"the gallery has no story of {c.name}")
    why = reasons[protocol, name]
    if not c.why:
        first = f"`{name}` explored further, past the claim of the proof that is violated first: {why}."
        return f"{first} In the larger budget the properties that the claim guards are violated after it."
    broken = c.expect.verdict == VIOLATED
    changed, matters = ("changed", "What goes wrong") if broken else ("read otherwise", "Why it does no harm")
    changed, matters = ("repaired", "Why") if variant.repairs else (changed, matters)
    left = " The other rules still violate what they violated before." if variant.repairs and broken else ""
    return f"The rule {changed}: {' '.join(variant.summary.split())}. {matters}: {why}.{left}"


# --- the answer ------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class GalleryResult(Checked):
    """The outcomes of gallery entries, with the claim and place of each."""

    def parts(self) -> Sequence[Part]:
        run = [o for o in self.outcomes if o.status != NOT_RUN]
        if len(run) == 1:
            return self.one(run[0])
        heavy = {o.check.name for o in self.outcomes if "--all" in " ".join(o.reasons)}
        blocks = [block(o) for o in self.outcomes if o.status != NOT_RUN or o.check.name in heavy]
        return [folded(self.sentence, others="  "), *blocks, *self.folded_notes()]

    def runs_of(self, o: CheckOutcome) -> list[tuple[str, Trace]]:
        """Return every counterexample of an entry that was run: an entry exists to show it."""
        return traces_of(o, o.found.counterexamples) if o.found is not None else []

    def one(self, o: CheckOutcome) -> list[str]:
        """Return one entry: its story, its result, and the run that shows it."""
        parts = [folded(self.sentence, others="  "), block(o), *described(o.check), *self.folded_notes()]
        made = list(o.found.counterexamples.values()) if o.found is not None else []
        parts += [folded(x.why) for x in made if x.why][:1]
        return parts + [x.text.rstrip() for x in made if x.text][:1]


def described(c: Check) -> list[str]:
    """Return an entry's story, the properties that it expects to be violated if they are several, and its source."""
    violated = ", ".join(f"{name} {depth}" for name, depth in sorted(c.expect.violated.items(), key=lambda p: p[1]))
    several = [f"Violated: {violated}."] if len(c.expect.violated) > 1 else []
    return [folded(text) for text in (c.story, *several, f"[{c.where}; {c.expect.stated}]")]


def block(o: CheckOutcome) -> str:
    """Return an entry in a few lines: name and status, claim and place, expected and actual result with its figures."""
    _, status, wanted, there, steps, states, seconds = row(o)
    figures = ", ".join(f"{n} {unit}" for n, unit in ((steps, "steps"), (states, "states"), (seconds, "s")) if n)
    lines = [f"{o.check.name}  {status}", folded(f"{o.check.claim} [{o.check.where}]", "  ", "  ")]
    lines.append(folded(f"expected: {wanted}; found: {there}" + (f"; {figures}" if figures else ""), "  ", "  "))
    return "\n".join(lines)


def listed(entries: Sequence[Check], groups: dict[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the list of entries, a row for each."""
    group = {name: key for key, names in groups.items() for name in names}
    rows: list[tuple[str, ...]] = []
    for c in entries:
        seconds = f"{c.seconds:.1f}" if c.seconds else ""
        rows.append((c.name, group[c.name], expected(c.expect), seconds, c.claim, c.expect.stated))
    return rows
