"""Ctrl-C while LLVM is called: raised once it is safe, and nothing is freed twice."""

from __future__ import annotations

import collections
import ctypes
import gc
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from llvmlite.binding import ffi

from zabspec import signals
from zabspec.language.native import jit
from zabspec.signals import Held

TEXT = "define i64 @f() {\n  ret i64 7\n}\n"


def test_an_interrupt_is_raised_at_the_end() -> None:
    before = signal.getsignal(signal.SIGINT)
    done = []

    def interrupted() -> None:
        with Held() as outer:
            with Held() as held:
                signal.raise_signal(signal.SIGINT)
                assert held.waiting
                done.append("inner")
            assert outer.waiting
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("number", signals.ENDING)
def test_whatever_ends_a_command_is_held(number: signal.Signals) -> None:
    own = signal.signal(number, signal.SIG_DFL)  # whoever runs the tests may ignore it
    heard, done = signals.SignalHandler(), []
    heard.listen()

    def interrupted() -> None:
        with Held() as held:
            signal.raise_signal(number)
            done.append(held.waiting)

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        heard.leave()
        signal.signal(number, own)
    assert done == [True]


def test_other_threads_and_other_handlers_are_left_alone() -> None:
    seen: list[object] = []

    def look() -> None:
        with Held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        look()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [before, signal.SIG_IGN]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    "does",
    [lambda: jit.compile_text(TEXT), jit.machine_name, jit.has_bit_gather],
    ids=["compile", "machine", "processor"],
)
def test_no_string_is_freed_twice(does: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt as the library returns from freeing a string, before llvmlite notes that it is free."""
    jit._initialize()
    jit.host.cache_clear()
    freed: collections.Counter[int] = collections.Counter()
    real = ffi._lib_fn_wrapper.__call__

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        if self._cfn.__name__ != "LLVMPY_DisposeString":
            return real(self, *arguments, **named)
        pointer = ctypes.cast(arguments[0], ctypes.c_void_p).value
        if pointer:
            freed[pointer] += 1  # and is not freed at all, so that a second time does no harm
            if sum(freed.values()) == 1:
                signal.raise_signal(signal.SIGINT)
        return None

    monkeypatch.setattr(ffi._lib_fn_wrapper, "__call__", call)
    gc.freeze()  # what other tests have left takes seconds to look through
    with pytest.raises(KeyboardInterrupt):
        does()
    gc.collect()
    gc.unfreeze()
    assert freed
    assert max(freed.values()) == 1


def test_a_compilation_that_is_interrupted_for_nothing_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the handler of the process does not raise."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    real = jit._target_machine

    def machine(thorough: bool = True) -> Any:
        if not came:
            signal.raise_signal(signal.SIGINT)
        return real(thorough)

    monkeypatch.setattr(jit, "_target_machine", machine)
    try:
        assert jit.compile_text(TEXT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert came == [signal.SIGINT]
