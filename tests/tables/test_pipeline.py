"""`zabcheck init --from pipeline`: a pipeline that runs as it stands."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq

from tests.commands.running import run
from tests.spark import LocalSpark
from traces.tables.sweep.grid import Grid


def test_a_pipeline_is_written_once(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert run("init", str(lake), "--from", "pipeline").exit_code == 0
    before = {path.name: path.read_bytes() for path in lake.iterdir()}
    assert before.keys() == {"pipeline.py", "pipeline.toml"}
    again = run("init", str(lake), "--from", "pipeline")
    assert (again.exit_code, "already exists" in again.stderr) == (2, True)
    nowhere = run("init", str(tmp_path / "a" / "b"), "--from", "pipeline")
    assert (nowhere.exit_code, "there is no folder" in nowhere.stderr) == (2, True)
    assert {path.name: path.read_bytes() for path in lake.iterdir()} == before
    settings = tomllib.loads((lake / "pipeline.toml").read_text())
    assert settings.keys() == {"where", "master", "events", "grid"}
    asked = {name: tuple(v) if isinstance(v, list) else (v,) for name, v in settings["grid"].items()}
    Grid(**asked).check()


def loaded(path: Path) -> Any:
    """The module of a file."""
    spec = importlib.util.spec_from_file_location("a_pipeline", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_pipeline_runs_and_counts_what_is_judged(
    local_spark: LocalSpark, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    local_spark.get()
    caplog.set_level("INFO", "pipeline")
    lake = tmp_path / "lake"
    assert run("init", str(lake), "--from", "pipeline").exit_code == 0
    settings = lake / "pipeline.toml"
    text = re.sub(r"\[grid\].*", "", settings.read_text(), flags=re.DOTALL)
    settings.write_text(f'{text}[grid]\nseeds = ["61", "62"]\nprotocol = "db19"\nfaults = [0, 2]\n')
    for _ in range(2):  # written twice it is there once
        loaded(lake / "pipeline.py").main()
    (runs,) = [pq.read_table(path) for path in (lake / "tables" / "runs").glob("sweep=*")]
    rates = pq.read_table(lake / "tables" / "rates").to_pylist()
    found: dict[str, int] = {}
    for row in rates:
        found[row["property"]] = found.get(row["property"], 0) + row["violated"]
    simulated = {name: runs.column(name).to_pylist().count("violated") for name in found}
    assert found == simulated, "all that runs violate, durability too"
    assert found.keys() == set(runs.column("properties")[0].as_py().split())
    assert sum(simulated.values()) > 0
    assert runs.num_rows == 4
    assert {path.stem for path in (lake / "plots").iterdir()} == {name for name, count in found.items() if count}
    verdicts = pq.read_table(lake / "tables" / "verdicts").to_pylist()
    assert {row["property"] for row in verdicts if row["verdict"] == "violated"} <= {n for n, k in found.items() if k}
    assert "0 open, 0 malformed" in caplog.text
    assert not re.search(r"^from (traces|checker|invariants|zabspec)", (lake / "pipeline.py").read_text(), re.MULTILINE)
