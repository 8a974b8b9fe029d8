"""The command: what it opens, how it is refused, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="pip install 'zabcheck[explore]'")

from checker.errors import RequestError
from checker.requests.walk import cards, opened
from checker.walk import serving
from checker.walk.served import Serving, address_of
from tests.commands.running import request_of
from tests.walk.asking import BROKEN
from traces import write_trace
from traces.walk.address import Address
from traces.walk.saved import trace_of


def opens(*words: str) -> tuple[str, int]:
    """The address that a command line opens first, and how many cards there are."""
    _, first, shown = opened(request_of("walk", *words))
    return first, len(shown)


def test_a_command_line_names_a_place(tmp_path: Path) -> None:
    """Options, a trace, a row and an address; without any there are cards, each with a model that there is."""
    first, shown = opens("--nodes", "2", "--crashes", "0")
    assert first.startswith("zab?nodes=2&crashes=0&tool=")
    assert not shown
    assert opens() == ("", len(cards()))
    assert opens("zk-4643")[0].startswith("zookeeper?")
    serving_it = Serving((BROKEN,))
    with serving_it.at(Address.read(f"{address_of(BROKEN).text}&way=000")) as (found, place, _):
        write_trace(trace_of(place), tmp_path / "run.trace.json")
        there = found.address(place.path)
    of_trace, _ = opens(str(tmp_path / "run.trace.json"))
    assert Address.read(of_trace).way == (0, 0, 0)
    assert opens(there.text)[0] == there.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no.trace.json"], "cannot read no.trace.json"),
        (["ZK-0"], "there is no row ZK-0"),
        (["zab?way=zzzz"], "step 1 of the walk is number"),
        (["nothing?nodes=3"], "there is no protocol 'nothing'"),
        (["zab?made=0000&tool=0.1.0"], "made by zabcheck 0.1.0"),
    ],
)
def test_what_is_no_place_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(RequestError) as problem:
        opens(*words)
    assert said in str(problem.value)


def test_options_do_not_go_with_a_place() -> None:
    with pytest.raises(RequestError, match="--nodes does not go with ZK-4643"):
        opens("ZK-4643", "--nodes", "3")


def test_a_trace_of_other_states_is_refused(tmp_path: Path) -> None:
    """A trace whose states are not those of its schedule is no place."""
    with Serving((BROKEN,)).at(Address.read(f"{address_of(BROKEN).text}&way=000")) as (_, place, _):
        write_trace(trace_of(place), tmp_path / "run.trace.json")
    text = (tmp_path / "run.trace.json").read_text("utf-8")
    (tmp_path / "run.trace.json").write_text(text.replace('"promised_epoch": [1', '"promised_epoch": [0'), "utf-8")
    with pytest.raises(RequestError, match="the state after 3 steps is not that of the run"):
        opens(str(tmp_path / "run.trace.json"))


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabspec.extras.find_spec", lambda name: None)
    with pytest.raises(RequestError, match=r"needs starlette, which `pip install 'zabcheck\[explore\]'` installs"):
        serving.check_installed()


@pytest.mark.slow(seconds=2)
def test_it_serves_until_it_is_interrupted() -> None:
    """It prints where it is as JSON, answers there, and Ctrl-C ends it with a search at work: exit code 0."""
    words = [sys.executable, "-m", "zabcheck", "walk", "--nodes", "4", "--threads", "1", "--json", "--no-browser"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    try:
        assert process.stdout is not None
        said = b""
        while not said.endswith(b"}\n"):
            said += process.stdout.readline()
        told = json.loads(said)
        page, _, token = told["url"].partition("#token=")
        assert page == f"http://127.0.0.1:{told['port']}/"
        with urllib.request.urlopen(page) as found:
            assert b"zabcheck walk" in found.read()
        body = {"address": "zab?nodes=4", "goal": "violation", "property": "agreement", "here": False}
        headers = {"content-type": "application/json", "x-walk-token": token, "origin": page.rstrip("/")}
        asked = urllib.request.Request(f"{page}api/job", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(asked) as found:
            assert json.load(found)["job"] == 1
        process.send_signal(signal.SIGINT)
        _, heard = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert heard.decode() == "zabcheck: the walk and its searches have ended\n"
