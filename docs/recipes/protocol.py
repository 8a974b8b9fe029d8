"""A protocol: one file, anywhere. `zabcheck init` writes one that runs, with a variant that breaks it.

A protocol that comes with zabcheck is such a file in `zabspec/protocols/`, and a row of its `registry.py`.
"""

from __future__ import annotations

from recipe import run

run("zabcheck init mine.py")
run("zabcheck --protocol mine.py --nodes 2 --crashes 0", "holds: 1 property, each put to the test")
