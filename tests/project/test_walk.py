"""The way of an exploration from the Python API to the engine is short enough to be followed."""

from __future__ import annotations

import pytest

from tests.project.walk import ENGINE, START, Sources, ways


@pytest.mark.slow(seconds=4)
def test_an_exploration_comes_to_its_engine_in_few_functions() -> None:
    """Checkpoints, reduced searches and Spark among them, which leave the line of docs/architecture.md."""
    sources = Sources()
    stops = ways(sources)
    assert stops[0] == START
    assert set(ENGINE) <= set(stops)
    assert len(stops) <= 29, stops
    assert len({sources.functions[name].module for name in stops}) <= 12, stops
