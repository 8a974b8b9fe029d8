"""What the tests do with TLC."""

import pytest


@pytest.fixture(autouse=True)
def compiled_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLC runs for a second or two here, of which what compiles it thoroughly takes nearly half."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
