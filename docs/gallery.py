"""Run the gallery, record its times, and write the tables that pages have of its entries and of variants.

    python docs/gallery.py [NAME ...] [--all] [--dry]

Entries that are named are run, or all that take under a minute; `--all`: all; `--dry`: none, to write only what the
entries themselves contain. This script never writes what an entry expects: if something differs, it is reported,
nothing is written, and the exit code is 1.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from checker.ci.configuration import Check
from checker.ci.judging import NOT_RUN, Outcome
from checker.ci.selection import result_of
from checker.ci.shipped import MEASURED, gallery
from checker.ci.variants import Shown, shown, taken
from traces.zookeeper import codes as findings
from zabspec.authoring.declaration import Variant
from zabspec.authoring.sources import EXAMPLE
from zabspec.protocols.registry import PROTOCOLS

DOCS = Path(__file__).parent
TABLED = tuple(
    DOCS / name for name in ("reference/variants.md", "explanation/case-studies.md", "reference/audit-findings.md")
)
MARKED = re.compile(r"(<!-- gallery: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
ON = "-and-on"


def run(names: Iterable[str], heavy: bool) -> list[Outcome]:
    """Run entries of the gallery; return the outcome of each, those that are left out included."""
    there = gallery()
    left = there.named(names, heavy=heavy)
    return list(result_of(there.matrix, left, datetime.datetime.now(datetime.UTC).date(), "entry").outcomes)


# --- the tables of variants ------------------------------------------------------------------------


def with_tables(text: str) -> str:
    """Return a page with its marked tables rewritten."""
    return MARKED.sub(lambda found: found[1] + TABLES[found[2]]() + found[4], text)


def of(protocol: str, safe: bool) -> list[tuple[Variant, Shown]]:
    """Return the variants of a protocol that are safe, or those that are not, each with where it is shown."""
    return [(v, shown(protocol)[v.name]) for v in PROTOCOLS[protocol].variants.values() if v.safe is safe]


def lines(head: str, rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table."""
    rule = "|" + "---|" * head.count(",")
    cells = [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head.rstrip(',').split(','))} |", rule, *cells]) + "\n"


def told(found: Mapping[str, int]) -> str:
    """Return the violated properties, each with its depth."""
    return ", ".join(f"{name} {depth}" for name, depth in found.items()) or "nothing"


def breaking() -> str:
    """Return the table of unsafe variants of zab."""
    rows = []
    for v, there in of("zab", safe=False):
        first, *then = there.breaks
        rows.append((f"`{v.name}`", v.rule, first, there.depth, ", ".join(then), there.why))
    return lines("variant,rule,violates,depth,then,why,", rows)


def harmless() -> str:
    """Return the table of safe variants of zab."""
    rows = ((f"`{v.name}`", v.rule, v.summary, there.why) for v, there in of("zab", safe=True))
    return lines("variant,rule,what is changed,why it does not matter,", rows)


def commands(safe: bool) -> str:
    """Return the commands that show each variant."""
    out = ""
    for v, there in of("zab", safe):
        words = "".join(f" --{name.replace('_', '-')} {value}" for name, value in there.within.items())
        out += f"- `zabcheck --variant {v.name}{words}`\n"
    return out


def more() -> str:
    """Return the table of further violations of variants, in larger budgets."""
    entries = [entry(name) for name in gallery().groups["variants"] if name.endswith(ON)]
    rows = ((f"`{c.values['variant']}`", budget(c), told(c.expect.violated)) for c in entries)
    return lines("variant,budget,violated properties and their depths,", rows)


def rules() -> str:
    """Return the table of LADIS'08 with rules of DSN'11: all that repair it, each left out, and each alone."""
    every = [v.name for v in PROTOCOLS["ladis"].variants.values() if v.repairs]
    rows = []
    for c in (entry(name) for name in gallery().groups["ladis08"]):
        mine = taken(c)
        if set(mine) <= set(every) and mine:
            left = [name for name in every if name not in mine]
            said = {0: f"all {len(every)}", 1: f"without `{''.join(left)}`"}.get(len(left), f"`{','.join(mine)}` alone")
            rows.append((said, budget(c), told(c.expect.violated)))
    return lines("rules,budget,violated properties and their depths,", rows)


def readings() -> str:
    """Return the table of other readings of LADIS'08."""
    rows = []
    for v in (v for v in PROTOCOLS["ladis"].variants.values() if not v.repairs):
        there = shown("ladis")[v.name]
        beside = ", +rules" if there.beside else ""
        rows.append((f"`{v.name}`", budget(there.check) + beside, told(there.breaks), there.why))
    return lines("variant,shown,violated properties and their depths,why,", rows)


def repairs() -> str:
    """Return the table of repairs of the lab's protocol."""
    mine = (v for v in PROTOCOLS["db19"].variants.values() if v.repairs)
    return lines(
        "repair,rule,what is repaired,why,",
        ((f"`{v.name}`", v.rule, v.summary, shown("db19")[v.name].why) for v in mine),
    )


CORE = (
    "integrity", "total-order", "agreement", "local-primary-order", "global-primary-order", "primary-integrity",
)  # fmt: skip


def core() -> str:
    """Return the results of the entries that judge the six core properties, to exhaustion, as a table."""
    rows = []
    for name in gallery().groups["others"]:
        c = entry(name)
        if name.startswith("core-"):
            protocol, variant = str(c.values["protocol"]), str(c.values.get("variant", ""))
            amounts = c.values.get("budgets", {}).items()
            own = ", ".join(f"{n} {word.removesuffix('s') if n == 1 else word}" for word, n in amounts)
            said = filter(None, (protocol.removeprefix(EXAMPLE), variant and f"`{variant}`", own or budget(c)))
            cells = [f"breaks at {depth}" if (depth := c.expect.violated.get(p)) else "holds" for p in CORE]
            rows.append((", ".join(said), *cells, f"{c.expect.states:,}"))
    return lines(",".join(("protocol and bounds", *CORE, "states", "")), rows)


# Advice that many codes give, and its name on the page. The page says to copy first.
ADVICE = {
    f"{findings.PHRASES['copy']} ": "",
    findings.PHRASES["copy"]: "",
    findings.PHRASES["resync"]: "Resynchronize.",
    findings.PHRASES["disk"]: "Check the disk.",
    findings.PHRASES["hold"]: "Hold.",
    findings.PHRASES["last"]: "Start last.",
}


def codes() -> str:
    """Return the table of every code of an audit, and its usual advice."""
    rows = []
    for code in findings.TABLE:
        do = code.do
        for advice, name in ADVICE.items():
            do = do.replace(advice, name)
        rows.append((f"`{code.code}`", code.what, do))
    return lines("code,what it is,what to do,", rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "breaks": breaking,
    "seen": lambda: commands(safe=False),
    "more": more,
    "harmless": harmless,
    "tried": lambda: commands(safe=True),
    "rules": rules,
    "readings": readings,
    "repairs": repairs,
    "core": core,
    "codes": codes,
}


def budget(c: Check) -> str:
    """Return the bounds of an entry in words."""
    words = [f"{c.values['nodes']} processes"] if c.values["nodes"] != 3 else []
    for name, one in (("txns", "transaction"), ("timeouts", "timeout"), ("crashes", "crash")):
        if n := int(c.values.get(name, 0)):
            words.append(f"{n} {one}" + ("" if n == 1 else "es" if one == "crash" else "s"))
    faults = any(c.values.get(name) for name in ("timeouts", "crashes"))
    depth = f", to depth {c.values['depth']}" if "depth" in c.values else ""
    return ", ".join(words) + ("" if faults else ", no fault") + depth


def entry(name: str) -> Check:
    """Return the entry of a name."""
    return next(c for c in gallery().matrix.checks if c.name == name)


def main() -> int:
    """Run entries, rewrite the pages and the times; return the exit code."""
    words = sys.argv[1:]
    names = [word for word in words if not word.startswith("--")]
    there = gallery()
    if "--dry" in words:
        outcomes = [Outcome(c, NOT_RUN) for c in there.matrix.checks]
    else:
        outcomes = run(names, "--all" in words)
    wrong = [o for o in outcomes if o.status not in (NOT_RUN, "as expected")]
    for o in wrong:
        print(o.check.name, o.status, *(d.says for d in o.differences), *o.reasons, file=sys.stderr)
    if wrong:
        return 1
    measured = {c.name: c.seconds for c in there.matrix.checks if c.seconds}
    measured |= {o.check.name: round(o.found.cpu_seconds, 1) for o in outcomes if o.found is not None}
    MEASURED.write_text(json.dumps(dict(sorted(measured.items())), indent=1) + "\n", encoding="utf-8")
    for path in TABLED:
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
