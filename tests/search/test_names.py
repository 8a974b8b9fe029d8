"""Names of the kernels: no protocol that comes with zabcheck uses one, so that each can be explored and walked."""

from __future__ import annotations

from types import FunctionType

import pytest

from checker.explore import kernel
from checker.live import kernel as live_kernel
from checker.search import kernel as search_kernel
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS


def defined(module: object) -> set[str]:
    """The functions that a module defines."""
    here = vars(module)
    return {n for n, f in here.items() if isinstance(f, FunctionType) and f.__module__ == here["__name__"]}


@pytest.mark.parametrize("protocol", ["zab", "ladis", "db19", "zookeeper"])
def test_no_name_of_a_kernel_is_one_of_the_protocol(protocol: str) -> None:
    kernels = defined(kernel) | defined(search_kernel) | defined(live_kernel)
    assert {"expand", "random_walks", "expand_stable"} <= kernels
    names = set(Model(Configuration(protocol)).program.namespace)
    for v in PROTOCOLS[protocol].variants.values():
        names |= set(v.overrides)
    assert not kernels & names
