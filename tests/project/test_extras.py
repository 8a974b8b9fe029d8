"""Extras: each package is in the one that messages name, and today's releases are admitted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.project.test_project import PROJECT
from zabspec.extras import EXTRAS, installing, missing

DISTRIBUTIONS = {"grpc": "grpcio", "grpc_status": "grpcio-status", "google.rpc": "googleapis-common-protos"}
DECLARED = {
    extra: {Requirement(line).name for line in lines}
    for extra, lines in PROJECT["project"]["optional-dependencies"].items()
}


@pytest.mark.parametrize(("name", "extra"), EXTRAS.items())
def test_a_package_is_in_the_extra_that_messages_name(name: str, extra: str) -> None:
    assert DISTRIBUTIONS.get(name, name).replace("_", "-") in DECLARED[extra]
    assert name not in {Requirement(line).name for line in PROJECT["project"]["dependencies"]}


@pytest.mark.parametrize(("package", "newest"), [("pandas", "3.1.1"), ("pyarrow", "26.0.1")])
def test_todays_releases_are_admitted(package: str, newest: str) -> None:
    lines = PROJECT["project"]["optional-dependencies"][EXTRAS[package]]
    (line,) = (Requirement(line) for line in lines if Requirement(line).name == package)
    assert newest in line.specifier


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("pipx_metadata.json", "pipx runpip zabcheck install"),
        ("uv-receipt.toml", "uv tool install"),
        ("", "pip install"),
    ],
)
def test_the_advice_is_for_the_tool_that_installed(
    receipt: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if receipt:
        (tmp_path / receipt).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert installing("plots") == f"`{command} 'zabcheck[plots]'`"
    monkeypatch.setattr("zabspec.extras.find_spec", lambda name: name == "pyarrow" or None)
    assert missing("pyarrow", "matplotlib") == f"matplotlib, which `{command} 'zabcheck[plots]'` installs"
