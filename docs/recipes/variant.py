"""A variant: a function and a row beside its protocol, and what is expected of it in the gallery.

The function replaces the one of the same rule; a protocol has its variants in `zabspec/protocols/*_variants.py`. The
first entry of the gallery that explores a variant says what is violated, after how many steps, and why: no other file
does (docs/decisions/0011). Then run `python -m benchmarks.gallery counter-one`, which measures the entry.
`tests/protocols/test_variants.py` explores it and replays each counterexample.
"""

from __future__ import annotations

from recipe import after, before, run

before(
    "zabspec/protocols/zab_variants.py",
    "# --- the table",
    '''
def always_one(s: State, l: Node) -> int:
    """l.3.1: the counter of the next zxid is 1, whatever came before."""
    return 1


''',
)
after(
    "zabspec/protocols/zab_variants.py",
    "TABLE = (",
    """
    Variant(
        name="counter-one",
        rule="l.3.1",
        summary="every transaction of an epoch has the same zxid",
        overrides={"next_counter": always_one},
    ),
""",
)
before(
    "checker/ci/gallery/variants.toml",
    "[[check]]",
    """
[[check]]
name = "counter-one"
claim = "The rule of l.3.1 is needed: without it unique-zxid breaks."
where = "docs/reference/variants.md"
why = "the counter is what tells the transactions of an epoch apart"
variant = "counter-one"
nodes = 1
txns = 2
timeouts = 0
crashes = 0
losses = 0
keep_going = true

[check.expect]
verdict = "violated"
violated = { unique-zxid = 9, invariant-2 = 11 }
source = "DSN'11, l.3.1"

""",
)
run("zabcheck gallery counter-one", "as expected: 1 of 1 entry")
run("zabcheck variants --protocol zab", "zab counter-one l.3.1 breaks: unique-zxid, invariant-2")
