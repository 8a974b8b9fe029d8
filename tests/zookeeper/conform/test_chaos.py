"""Real servers that run freely, under faults, and the search for a run of the model that explains them."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.zookeeper.requests.chaos import ChaosRequest
from tests.servers import SPARK, official
from traces.zookeeper.conform.explained import EXPLAINED


@pytest.mark.slow(seconds=40)
def test_a_run_of_servers_under_faults_is_explained(tmp_path: Path) -> None:
    official(SPARK)
    request = ChaosRequest(
        SPARK, seconds=20.0, clients=2, writes=60, faults="kill,cut,tail", output=str(tmp_path / "run")
    )
    found = request.answer()
    folder, conformed = found.folder, found.outcome
    assert folder is not None
    assert conformed is not None
    assert (conformed.verdict, conformed.broken) == (EXPLAINED, {})
    assert conformed.total > 60
    assert {path.name for path in folder.iterdir()} >= {"record.jsonl", "log1.txt", "server1"}
