"""The schema of SARIF 2.1.0."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from jsonschema import Draft4Validator  # type: ignore[import-untyped]

from checker.report.formats.sarif import SCHEMA


@cache
def validator() -> Draft4Validator:
    """OASIS's schema of SARIF 2.1.0 with its errata, as published; it lies in tests/data."""
    schema = json.loads((Path(__file__).parents[1] / "data/sarif-schema-2.1.0.json").read_text())
    assert schema["id"] == SCHEMA
    return Draft4Validator(schema)
