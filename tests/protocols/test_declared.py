"""The protocols that come with the package are declared as user protocols are, and checked as they are."""

from __future__ import annotations

import pytest

from zabspec import zab
from zabspec.authoring.declaration import ProtocolError
from zabspec.authoring.reading import check_released
from zabspec.protocols.registry import NAMES, PROTOCOLS

RELEASED = [NAMES[name] for name in PROTOCOLS] + ["zabspec.protocols.electing"]


@pytest.mark.parametrize("module", RELEASED)
def test_a_released_protocol_passes_the_checks_of_user_protocols(module: str) -> None:
    """No run checks it again: here it is done once for a release."""
    found = check_released(module)
    assert found.keeps_down
    assert not found.unheard
    assert found.handlers


def test_a_released_protocol_that_is_wrong_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(zab), "min", zab.last)
    with pytest.raises(ProtocolError, match="min is a word of the language"):
        check_released("zabspec.zab")
