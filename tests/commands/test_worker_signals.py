"""Processes that a command starts never hear the terminal's signals, from their first instruction on."""

from __future__ import annotations

import subprocess
import sys

import pytest

STARTS = """
import multiprocessing, signal
from zabspec.signals import Beginning

def blocked() -> list[str]:
    return sorted(s.name for s in signal.pthread_sigmask(signal.SIG_BLOCK, []))

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with Beginning():
        pool = context.Pool(1)
    print(pool.apply(eval, ("__import__('worker_signals').blocked()",)), blocked())
    pool.terminate()
"""


@pytest.mark.slow(seconds=2)
def test_a_worker_starts_with_the_signals_of_terminals_blocked(tmp_path: object) -> None:
    """The first process starts multiprocessing's resource tracker, which unblocks SIGINT in between."""
    folder = str(tmp_path)
    with open(f"{folder}/worker_signals.py", "w") as file:
        file.write(STARTS)
    found = subprocess.run(
        [sys.executable, "worker_signals.py"], cwd=folder, capture_output=True, text=True, timeout=300, check=True
    )
    terminals = "['SIGHUP', 'SIGINT', 'SIGQUIT']"
    assert found.stdout.splitlines() == [f"{terminals} []"]
