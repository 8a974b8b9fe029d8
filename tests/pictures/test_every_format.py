"""Counterexamples of the gallery in every format, opened by readers of the format; of pages those are in
`test_page.py`."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import itf_py
import pytest
from click.testing import CliRunner

from checker.cli import main

SOME = ("small-quorum", "clear-then-history")
TEXTS = {"text": "txt", "json": "json", "itf": "itf.json", "html": "html", "svg": "svg"}


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The counterexamples, as files."""
    folder = tmp_path_factory.mktemp("gallery")
    ran = CliRunner().invoke(main, ["gallery", *SOME, "--traces", str(folder)])
    assert ran.exit_code == 0, ran.output[-2000:]
    found = sorted(folder.glob("*.trace.json"))
    assert len(found) >= len(SOME)
    return found


@pytest.fixture(scope="module")
def exported(traces: list[Path]) -> dict[str, list[Path]]:
    """Each in every format that is text."""
    out: dict[str, list[Path]] = {form: [] for form in TEXTS}
    for trace in traces:
        for form, ending in TEXTS.items():
            path = trace.with_name(f"{trace.name.removesuffix('.trace.json')}.{ending}")
            ran = CliRunner().invoke(main, ["export", str(trace), "--to", form, "--output", str(path)])
            assert ran.exit_code == 0, (trace.name, form, ran.output)
            out[form].append(path)
    return out


@pytest.mark.slow(seconds=4)
def test_text_and_json(exported: dict[str, list[Path]]) -> None:
    for path in exported["text"]:
        assert max(map(len, path.read_text().splitlines())) <= 80 or "zabcheck" in path.read_text(), path.name
    for path in exported["json"]:
        assert json.loads(path.read_text())["steps"], path.name


@pytest.mark.slow(seconds=4)
def test_itf_opens_in_itf_py(exported: dict[str, list[Path]]) -> None:
    for path in exported["itf"]:
        read = itf_py.trace_from_json(json.loads(path.read_text()))
        assert len(read.states) > 1, path.name


@pytest.mark.slow(seconds=4)
def test_svg_opens_in_an_xml_parser_and_a_rasterizer(exported: dict[str, list[Path]]) -> None:
    resvg = pytest.importorskip("resvg_py", reason="no rasterizer here: pip install resvg-py")
    for path in exported["svg"]:
        assert ET.parse(path).getroot().tag.endswith("svg"), path.name
        assert bytes(resvg.svg_to_bytes(svg_string=path.read_text()))[1:4] == b"PNG", path.name
