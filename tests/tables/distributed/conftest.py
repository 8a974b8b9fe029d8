"""How tasks are compiled in these tests."""

import pytest

from zabspec.language.native import jit


@pytest.fixture(autouse=True)
def quickly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs in this process is compiled quickly, under the key of what is compiled thoroughly for workers."""
    if "cluster" not in request.fixturenames:
        quick = lambda key, make, examine, thorough=True: jit.compile_cached(key, make, examine, thorough=False)  # noqa: E731
        monkeypatch.setattr("zabspec.language.native.tiered.compile_cached", quick)
