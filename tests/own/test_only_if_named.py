"""A property with `default=False` is checked where it is named, and a protocol without another one says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main


def test_a_protocol_whose_properties_are_checked_only_if_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["init", "p.py"]).exit_code == 0
    text = Path("p.py").read_text(encoding="utf-8")
    Path("p.py").write_text(text.replace("@safety(", "@safety(default=False, "), encoding="utf-8")
    ended = CliRunner().invoke(main, ["--protocol", "p.py", "--no-trace"])
    assert ended.exit_code == 2
    assert "p.py has no property that is checked by default: name one, agreement for instance" in ended.output
    named = CliRunner().invoke(main, ["--protocol", "p.py", "--no-trace", "--property", "agreement", "--depth", "3"])
    assert named.exit_code == 3  # its premise is not reached
    assert "agreement" in named.output
