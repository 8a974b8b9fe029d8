"""Spark's findings are the local ones, to the byte of the report."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from checker.zookeeper.report.audit import Audited
from tests.spark import LocalSpark
from tests.zookeeper.directories import directory
from tests.zookeeper.healthy import healthy
from tests.zookeeper.written import ensemble
from traces.zookeeper.audit.audit import audit
from traces.zookeeper.disk.server import find_directory

pytest.importorskip("pyspark", reason="Spark is not installed")


@pytest.mark.slow(seconds=12)
def test_spark_finds_what_is_found_here(
    tmp_path: Path, local_spark: LocalSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    from traces.zookeeper.audit.spark import audit_on_spark

    monkeypatch.setattr("traces.zookeeper.audit.spark.session", lambda *_, **__: nullcontext(local_spark.get()))

    damaged = ("all other=2:6", "all -2:3", "1:1..1:14 +1:15..1:16! 2:1..3:6", "all snapshot=3:3<1:1..3:3,+2:11")
    folders = ensemble(tmp_path, *healthy(), *map(directory, damaged))
    here = Audited(audit([find_directory([p], p.name) for p in folders])).as_json()
    on_spark = audit_on_spark([find_directory([p], p.name) for p in folders], None, False, True, "local[2]")
    there = Audited(on_spark).as_json()
    assert json.dumps(here) == json.dumps(there)
    assert len(here["findings"]) >= 3
