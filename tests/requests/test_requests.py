"""Requests: what they accept, their JSON form, and what they depend on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checker.cli import KINDS, main
from checker.commands.deriving import requested
from checker.errors import RequestError
from checker.proofs.requests.confirm import Confirm
from checker.proofs.requests.export_model import ExportModel
from checker.proofs.requests.induct import Induct
from checker.requests.base.kinds import from_json
from checker.requests.base.model import ModelRequest
from checker.requests.base.request import Request, answered
from checker.requests.base.watch import QUIET
from checker.requests.explore import Explore
from checker.requests.graph import GraphRequest
from checker.requests.live import LiveRequest
from checker.requests.mutate import Mutate
from checker.requests.search import SearchRequest
from checker.requests.simulate import Simulate

TINY = ModelRequest(nodes=1, txns=1, budgets={"timeouts": 0, "crashes": 0, "losses": 0})


def asked(*words: str) -> Request:
    """The request that words of the command line make."""
    with main.make_context("zabcheck", list(words)) as context:
        return requested(KINDS, context.params)


# --- JSON --------------------------------------------------------------------------------------------

NUMBERS = st.none() | st.integers(1, 10**12)
# not any text: hypothesis takes four seconds to list all characters
TEXT = "aZ09 _-.:,/\\\"'%{}\0\n\t\u00e9\u202e\u2028\U0001f600"
WORD = st.text(TEXT, max_size=20)
SMALL = st.none() | st.integers(1, 7)
MODEL: Any = {
    "protocol": WORD, "variant": WORD, "nodes": SMALL, "crashes": SMALL,
    "budgets": st.dictionaries(WORD.map("own{}".format), st.integers(), max_size=3), "channel": SMALL,
}  # fmt: skip
REQUESTS = st.one_of(
    st.builds(
        Explore,
        **MODEL,
        depth=st.none() | st.integers(0, 500),
        properties=st.lists(WORD, max_size=3).map(tuple),
        keep_going=st.booleans(),
        symmetry=st.booleans(),
        reduction=st.sampled_from(("auto", "stuttering", "none")),
        time_limit=st.none() | st.floats(0.001, 1e9),
        memory_limit=NUMBERS,
        trace=st.none() | WORD,
    ),
    st.builds(
        LiveRequest,
        **MODEL,
        progress_properties=st.lists(WORD, max_size=3).map(tuple),
        symmetry=st.booleans(),
    ),
    st.builds(SearchRequest, **MODEL, seed=st.integers(0, 2**32 - 1)),
    st.builds(GraphRequest, **MODEL, depth=SMALL, max_states=st.integers(1, 99), symmetry=st.booleans()),
    st.builds(Confirm, **MODEL, clauses=st.just(("integrity",)), without=st.just(("kinds",)), processes=SMALL),
    st.builds(ExportModel, **MODEL, symmetry=st.booleans(), output=st.sampled_from(("", "M.tla"))),
    st.builds(Simulate, seed=st.integers(), cut=st.just(("0:1@3",)), check=st.just(True), properties=st.just(("x",))),
    st.builds(Mutate, **MODEL, number=st.integers(1, 99), seed=SMALL),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(REQUESTS)
def test_a_request_is_read_again_as_it_was_written(request_: Any) -> None:
    assert from_json(json.loads(json.dumps(request_.as_json()))) == request_


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "its kind must be one of"),
        ({"kind": "guess"}, "its kind must be one of audit, audit-logs"),
        ({"kind": "explore", "dept": 3}, "a request of kind explore has no 'dept'"),
        ({"kind": "explore", "depth": "3"}, "--depth must be a whole number, not '3'"),
        ({"kind": "explore", "depth": True}, "--depth must be a whole number, not True"),
        ({"kind": "explore", "depth": 1.5}, "--depth must be a whole number, not 1.5"),
        ({"kind": "explore", "crashes": "many"}, "--crashes must be a whole number, not 'many'"),
        ({"kind": "explore", "budgets": {"crashes": "many"}}, "--budget must be a whole number, not 'many'"),
        ({"kind": "explore", "properties": "agreement"}, "--property must be a list of names"),
        ({"kind": "explore", "properties": [3]}, "--property must be text, not 3"),
        ({"kind": "explore", "symmetry": 0}, "--no-symmetry must be true or false, not 0"),
        ({"kind": "explore", "time_limit": float("nan")}, "--time-limit must be a number of seconds above 0"),
    ],
)
def test_what_is_no_request_is_refused_in_a_sentence(data: object, sentence: str) -> None:
    with pytest.raises(RequestError) as raised:
        from_json(data)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


# --- values that contradict each other -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"engine": "quick"}, "--engine must be compiled, interpret or spark, not 'quick'"),
        ({"reduction": "some"}, "--reduction must be auto, stuttering or none, not 'some'"),
        ({"master": "local[2]"}, "--master is for --engine spark"),
        ({"engine": "interpret", "checkpoint": "x"}, "--checkpoint does not go with --engine interpret"),
        ({"fingerprint": 32}, "--fingerprint must be 64 or 128, not 32"),
    ],
)
def test_an_exploration_that_cannot_be_is_no_request(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence.replace("[", r"\[")):
        Explore(**vars(TINY), **values)


@pytest.mark.parametrize(
    ("name", "sentence"), [("nodes", "--nodes must be 1 to 20"), ("txns", "--txns must be 1 to 7")]
)
def test_zero_is_no_number_that_was_not_given(name: str, sentence: str) -> None:
    """An induction about no process would have been answered about three."""
    with pytest.raises(RequestError, match=sentence):
        Induct(**{name: 0}).question()


# --- from flags and from keywords ------------------------------------------------------------------------


def test_flags_and_keywords_make_the_same_request() -> None:
    words = ["--nodes", "2", "--crashes", "1", "--property", "agreement", "--no-symmetry", "--memory-limit", "1G"]
    by_flags = asked(*words, "--no-trace", "--require-witness")
    by_keywords = Explore(
        nodes=2, crashes=1, properties=["agreement"], symmetry=False, memory_limit="1G", require_witness=True
    )
    assert by_flags == by_keywords
    assert by_flags.as_json() == {
        "kind": "explore",
        "nodes": 2,
        "crashes": 1,
        "properties": ["agreement"],
        "require_witness": ["all"],
        "symmetry": False,
        "memory_limit": 1 << 30,
    }


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ((), Explore),
        (("--live", "--progress-property", "commits"), LiveRequest),
        (("--search", "--seed", "3"), SearchRequest),
        (("--mutate", "3", "--seed", "3"), Mutate),
    ],
)
def test_a_flag_says_which_request_it_is(words: tuple[str, ...], kind: type) -> None:
    assert type(asked(*words)) is kind


@pytest.mark.parametrize("mode", ["--live", "--search", "--mutate=2"])
def test_what_a_request_has_no_field_for_does_not_go_with_it(mode: str) -> None:
    """Every flag of the command: it is a field of the request, an output, or refused by name."""
    said = 0
    for word in ("--keep-going", "--reduction=none", "--checkpoint=x", "--resume", "--symbolic=3", "--junit=x"):
        if mode == "--search" and word == "--keep-going":
            continue
        with pytest.raises(
            RequestError, match=rf"^{word.partition('=')[0]} does not go with {mode.partition('=')[0]}$"
        ):
            asked(mode, word)
        said += 1
    assert said >= 5


@pytest.mark.parametrize("words", [("--seed=0",), ("--live", "--seed=0")])
def test_a_flag_of_zero_is_given(words: tuple[str, ...]) -> None:
    with pytest.raises(RequestError, match=r"^--seed (is for --search|does not go with --live)"):
        asked(*words)


# --- what they depend on -----------------------------------------------------------------------------------


def test_a_trace_goes_where_the_request_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = replace(TINY, nodes=2, variant="small-quorum")
    request = Explore(**vars(model), properties=("durability",), trace="")
    report = request.answer()
    assert [p.name for p in tmp_path.iterdir()] == ["zabcheck-small-quorum-durability.trace.json"]
    assert report.counterexamples["durability"].path == "zabcheck-small-quorum-durability.trace.json"
    with pytest.raises(RequestError, match="there is no folder"):
        answered(replace(request, trace="none/run.json"), QUIET)
