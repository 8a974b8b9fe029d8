"""The protocols that come with zabcheck, their variants and the examples under a quorum system; grids of sweeps."""

from __future__ import annotations

import pytest

from checker.errors import RequestError
from checker.tables.requests.sweep import SweepRequest
from traces.tables.sweep.grid import Grid
from zabspec.authoring.declaration import ConfigError
from zabspec.model import Configuration
from zabspec.protocols.registry import PROTOCOLS

WEIGHTS = "weights 2,1,1"
OBSERVED = "weights 1,1,1,0"


@pytest.mark.slow(seconds=1)
def test_every_variant_takes_a_system_or_counts_for_itself() -> None:
    refused = set()
    for name in ("zab", "ladis", "db19", "zookeeper"):
        for variant, v in PROTOCOLS[name].variants.items():
            names = (variant, *v.needs[:1])
            try:
                Configuration(name, ",".join(names), quorums=OBSERVED if "observer" in names else WEIGHTS)
            except ConfigError:
                refused.add(variant)
    # unanimous says itself what a quorum is
    assert refused == {"small-quorum", "unanimous"}


def test_the_question_of_a_sweep_has_its_system() -> None:
    with_it, plain = Grid(quorums=WEIGHTS), Grid()
    assert with_it.as_json()["quorums"] == WEIGHTS
    assert "quorums" not in plain.as_json()
    assert with_it.run(0).quorums == WEIGHTS


def test_a_sweep_is_of_as_many_nodes_as_servers() -> None:
    grid = SweepRequest("folder", ("1:9",), quorums="weights 2,1,1,1,0").grid()
    assert grid is not None
    assert (grid.nodes, grid.run(0).nodes) == ((5,), 5)
    with pytest.raises(ConfigError, match="--quorums is a system of 3 servers, but --nodes is 5"):
        SweepRequest("folder", ("1:9",), nodes=(3, 5), quorums=WEIGHTS).grid()
    with pytest.raises(RequestError, match="--seeds is missing"):
        SweepRequest("folder", quorums=WEIGHTS)
