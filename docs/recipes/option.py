"""An option: one line of a request's class.

Its flag with help and completion, the keyword of the Python function, the key of `zabcheck.toml`, the JSON of the
request, the schema and the refusal of wrong values follow from that line (docs/decisions/0008).
"""

from __future__ import annotations

from recipe import before, run

before(
    "checker/requests/simulate.py",
    "    rounds: Annotated",
    """
    warmup: Annotated[Natural, Option("Ticks before the first proposal.", metavar="TICKS")] = 0
""",
)
run("zabcheck simulate --help", "--warmup TICKS Ticks before the first proposal. [default: 0]")
run("zabcheck simulate --rounds 20 --warmup 3 --json", '"warmup": 3')
run("checker.ci.keys", '"warmup": { "description": "Ticks before the first proposal.", "type": "integer", "minimum": 0')
