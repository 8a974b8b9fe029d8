"""A plugin of pytest: explorations in tests, with the counterexample in the failure.

    def test_it_holds(zabcheck_check):
        assert zabcheck_check("zab", nodes=2, txns=1, timeouts=1, crashes=0, losses=0).exhausted

A test fails where the command would not end with 0. Nothing of zabcheck is imported before a test explores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from checker.report.report import Explored

__all__ = ["zabcheck_check"]


@pytest.fixture
def zabcheck_check() -> Callable[..., Explored]:
    """Explores what it is called with, as `zabcheck.explore` does, and fails where it is not held."""

    def check(*args: Any, **options: Any) -> Explored:
        import zabcheck

        try:
            found = zabcheck.explore(*args, **options)
        except (zabcheck.RequestError, zabcheck.NoVerdict, ImportError) as problem:
            pytest.fail(f"zabcheck: {problem}", pytrace=False)
        if not found.passed:
            shown = next((v.text for v in found.verdicts.values() if v.text), "")
            pytest.fail("\n\n".join(filter(None, (found.sentence, shown))), pytrace=False)
        return found

    return check
