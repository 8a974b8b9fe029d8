"""Where the processes of Spark's tasks take pyspark from."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from traces.tables.spark.daemon import without_archives

ARCHIVES = ("pyspark.zip", "py4j-0.10.9.9-src.zip")


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """A path as Spark makes it: its archives, ours, and where the same packages are installed."""
    for name in ARCHIVES:
        package = name.removesuffix(".zip").partition("-")[0]
        folder = tmp_path / "site" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        (folder / "version.py").write_text("__version__ = '1'")
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr(f"{package}/__init__.py", "")
            file.writestr(f"{package}/version.py", "__version__ = '1'")
    return ["", *(str(tmp_path / name) for name in ARCHIVES), "zabcheck", str(tmp_path / "site")]


def test_what_is_installed_is_taken(paths: list[str]) -> None:
    assert without_archives(paths) == ["", "zabcheck", paths[-1]]
    assert without_archives(paths[3:]) == paths[3:], "there are no archives"


@pytest.mark.parametrize("package", ["pyspark", "py4j"])
def test_another_version_is_not(paths: list[str], package: str) -> None:
    (Path(paths[-1]) / package / "version.py").write_text("__version__ = '2'")
    assert without_archives(paths) == paths


def test_archives_stay_where_there_is_nothing_else(paths: list[str]) -> None:
    assert without_archives(paths[:-1]) == paths[:-1]
    (Path(paths[-1]) / "pyspark" / "version.py").unlink()
    assert without_archives(paths) == paths
    Path(paths[1]).write_text("no archive")
    assert without_archives(paths) == paths
