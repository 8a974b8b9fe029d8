"""The server of a walk: what it gives, and whom it refuses."""

from __future__ import annotations

import json
import random
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="pip install 'zabcheck[explore]'")

from checker.requests.base.model import ModelRequest
from checker.requests.exploring.walked import WalkRequest, request_of_row, row_of
from checker.walk.app import LARGEST, Guard
from checker.walk.continuing import Bounds, ContinuedModel
from checker.walk.page import ASSETS, MODULES, joined, opened, read
from checker.walk.searching import searched, words_of_search
from checker.walk.served import address_of
from checker.walk.service import Service, others_of
from tests.models import model, python_successors
from tests.walk.asking import BROKEN, HOST, OWN, TOKEN, Query, Response, ask, served
from traces import read_trace, verify
from traces.record.values import state_json
from traces.replay.replay import replay
from traces.walk.walker import WalkError
from zabspec.language.python.reference import StateView
from zabspec.model import Configuration, Model

START = address_of(BROKEN).text
GOOD = f"{START}&at=11&way={'0' * 11}"  # p0 alone, to the violation


@cache
def server() -> tuple[Service, Guard]:
    return served(BROKEN, OWN)


def get(what: str, **body: object) -> Response:
    return ask(server()[1], Query(what, body))


def test_a_view_has_all_of_a_place() -> None:
    """The view of an address says where it is, and an address that it gives opens the same place."""
    first = get("view", address=GOOD)
    assert first.status == 200
    again = get("view", address=first.json["address"])
    assert again.json == first.json
    assert "made=" in first.json["address"]
    broken = {p["name"] for p in first.json["place"]["properties"] if p["verdict"] == "violated"}
    assert broken == {"delivered-is-chosen", "durability"}
    assert first.headers["content-security-policy"].startswith("default-src 'self'")
    assert "access-control-allow-origin" not in first.headers


def test_the_page_and_its_files_are_served() -> None:
    """The page names files that there are, and every one is given; none needs the token, and none says it."""
    app = server()[1]
    page = ask(app, Query("/", method="GET", origin=(), token=()))
    assert page.status == 200
    for name in ASSETS:
        found = ask(app, Query(f"/assets/{name}", method="GET", origin=(), token=()))
        assert found.status == 200
        assert TOKEN.encode() not in found.data
    assert b"https://" not in page.data
    names = [n for m in MODULES for n in _names(m)]
    assert len(names) == len(set(names)), "a saved page joins the modules: a name is of one of them"
    assert "import {" not in joined()
    assert "\nexport " not in joined()


def _names(module: str) -> list[str]:
    import re

    return re.findall(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", read(module), re.MULTILINE)


def test_a_saved_walk_replays(tmp_path: Path) -> None:
    """The trace of a walk is of the property that its last step violates, and every command can read it."""
    saved = get("trace", address=GOOD)
    file = tmp_path / saved.json["name"]
    file.write_text(saved.json["text"], "utf-8")
    trace = read_trace(file)
    verify(trace)
    replay(trace)
    assert trace.property_name == "delivered-is-chosen"
    assert len(trace.steps) == 11


def test_another_digest_names_the_release() -> None:
    found = get("view", address=f"{START}&tool=0.1.7&made={'0' * 16}&at=0&way=")
    assert found.status == 400
    assert "zabcheck 0.1.7" in found.json["error"]


def test_a_way_that_is_not_there_is_refused() -> None:
    """A number beyond the possible steps is refused with how many there are."""
    found = get("view", address=f"{START}&way=00y")
    assert found.status == 400
    assert "step 3 of the walk is number 35, but" in found.json["error"]


# --- files -----------------------------------------------------------------------------------------


def test_no_file_is_read_for_a_request(tmp_path: Path) -> None:
    """A protocol that is a file is walked through only if the command line named it; no other file is even opened."""
    trap, sprung = tmp_path / "trap.py", tmp_path / "sprung"
    trap.write_text(f"open({str(sprung)!r}, 'w').close()\n", "utf-8")
    assert get("view", address=address_of(OWN).text).status == 200
    for name in (str(trap), f"file://{trap}", "examples/paxos.py", "../../etc/passwd", "trap", "os.path"):
        found = get("view", address=name)
        assert found.status == 400, name
        assert "has not been started for" in found.json["error"]
    assert not sprung.exists()


# --- hostile requests ------------------------------------------------------------------------------

HOSTS = [(), ("127.0.0.1",), ("localhost:43210",), ("evil.example:43210",), (HOST, HOST), ("127.0.0.1:80",), ("",)]
ORIGINS = [(), ("null",), ("https://127.0.0.1:43210",), ("http://evil.example",), (f"http://{HOST}", "null"), ("",)]
TOKENS = [(), ("",), ("0" * 32,), (TOKEN.upper(),), (TOKEN, TOKEN), (TOKEN[:-1],), (f"{TOKEN} ",), ("\xff" * 32,)]
METHODS = ["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "X"]
PATHS = ["/api/", "/api/nothing", "/api/view/", "/api/../view", "/assets/../app.py", "/assets/%2e%2e", "//", "/\x00"]
ADDRESSES = [
    "", "?", "zab?x", "zab?nodes=99", "zab?nodes=-1", "zab?variant=none", "zab?budget.begins=1", "zab?way=" + "z" * 99,
    "zab?at=5", "zab?nodes=1&nodes=1", "zab?release=3.9.1", "zookeeper?release=nine", "zab?quorums=/etc/passwd",
    "zab?timeouts=99", "zab?max_epoch=0", "zab?channel=999", "zab?properties=none", "zab?merges=2", "zab?protocol=db19",
    "zab?network=none", "zab?start=none", "zab?repair=none", "nothing", "/etc/passwd", "zab\x00", "zab?way=\ud800",
    "zab?way=" + "0" * 3000, "a" * 61_000, f"{START}&way=zzzz", f"{START}&at=1&way=yy", "zab?passes=1&literal=x",
    "db19?losses=1", "ladis?heartbeats=2", "zab?nodes=1000000000000",
]  # fmt: skip


def hostile(source: random.Random) -> Query:
    """A request that has something wrong with it."""
    asked = Query(source.choice(["view", "trace", "page", "job", "start", "progress", "cancel"]), {"address": START})
    kind = source.randrange(8)
    if kind == 0:
        asked.host = source.choice(HOSTS)
    elif kind == 1:
        asked.origin = source.choice(ORIGINS)
    elif kind == 2:
        asked.token = source.choice(TOKENS)
    elif kind == 3:
        asked.method = source.choice(METHODS)
    elif kind == 4:
        asked.what = source.choice(PATHS)
    elif kind == 5:
        asked.what = source.choice(["view", "trace", "page", "job", "cover", "lines", "pair"])
        address = source.choice(ADDRESSES)
        asked.body = {
            "address": address,
            "left": START,
            "right": address,
            "leads": "left",
            "levels": 1,
            "goal": "violation",
            "property": "",
            "here": False,
        }
    elif kind == 6:
        asked.body = source.choice(
            [b"", b"{", b"[" * 5000, b'{"a":' * 2000, b"\xff\xfe", b"null", b"[]", b'"x"', b"1e999", b"x" * LARGEST,
             b"{" + b" " * LARGEST + b"}", source.randbytes(200), b"NaN", b'{"address": 1}', b'{"address": null}']
        )  # fmt: skip
        asked.what = source.choice(sorted({*server()[0].does} - {"start"}))
    else:
        asked.what = source.choice(["page", "job", "progress", "cancel", "search", "compare", "pair"])
        asked.body = {
            "left": START, "right": START, "leads": source.choice([1, "x", None]),
            "expression": source.choice([1, None, "", "some p:", "\0", "s.role", "a" * 900]),
            "other": source.choice([1, None, "", "zab?x", START, "nothing"]),
            "address": START, "levels": source.choice([0, 3, -1, True, "1", 1.5, None]),
            "goal": source.choice([1, "x", None]),
            "property": source.choice([1, None, "none"]), "here": source.choice([1, "x"]),
            "job": source.choice([0, 99, -1, True, None, "1", 1 << 70]),
        }  # fmt: skip
    return asked


def test_hostile_requests_are_refused() -> None:
    """Host, Origin, token, method, path, size, JSON, addresses: each request is refused in a sentence, and none is an
    error of the server."""
    source, app = random.Random(0), server()[1]
    for _ in range(500):
        asked = hostile(source)
        found = ask(app, asked)
        if asked.method == "GET" and "/" not in asked.what:
            assert found.status in (400, 403)
        assert found.status in (400, 403), (asked, found)
        if asked.method != "HEAD":
            assert json.loads(found.data)["error"]
        assert "access-control-allow-origin" not in found.headers


def test_a_body_is_small_and_flat() -> None:
    """What would be answered otherwise is refused if its body is too large, or nested, before it is parsed."""
    good, app = json.dumps({"address": START}).encode(), server()[1]
    assert ask(app, Query("view", good)).status == 200
    large = ask(app, Query("view", good + b" " * LARGEST))
    assert (large.status, "has less than 65536 bytes" in large.json["error"]) == (400, True)
    nested = ask(app, Query("view", good[:-1] + b', "x": ' + b"[" * 33 + b"]" * 33 + b"}"))
    assert (nested.status, "flat" in nested.json["error"]) == (400, True)


# --- jobs ------------------------------------------------------------------------------------------


def ended(job: int) -> dict[str, str]:
    """What a job comes to."""
    while (told := get("progress", job=job).json)["state"] == "running":
        time.sleep(0.02)
    return dict(told)


@pytest.mark.slow(seconds=1)
def test_a_search_finds_the_shortest_way() -> None:
    """To a violation from the beginning and from a place on the way, to a premise, and to what there is not."""
    begin = lambda **more: get("job", **({"address": START, "goal": "violation", "here": False} | more)).json["job"]  # noqa: E731
    any_of_them = ended(begin(property=""))
    assert any_of_them["state"] == "found"
    assert "11 steps" in any_of_them["sentence"]
    on = ended(begin(property="durability", address=f"{START}&at=4&way=0000", here=True))
    assert "a shortest run from there that violates durability: 7 steps" in on["sentence"]
    view = get("view", address=on["address"]).json
    assert "durability" in {p["name"] for p in view["place"]["properties"] if p["verdict"] == "violated"}
    premise = ended(begin(property="integrity", goal="witness"))
    assert "reaches the premise of integrity" in premise["sentence"]
    none = ended(begin(property="primary-integrity", address=GOOD, here=True))
    assert none["state"] == "none"
    assert "were explored" in none["sentence"]
    assert get("job", address=START, goal="violation", property="nothing", here=False).status == 400


def sought(expression: str, **more: object) -> dict[str, str]:
    """What a search by an expression comes to."""
    return ended(get("search", **{"address": START, "here": False, "expression": expression, **more}).json["job"])


@pytest.mark.slow(seconds=1)
def test_an_expression_is_searched_for() -> None:
    """The shortest way to a state of which it is true, of one process by its name too, where processes are not alike
    any more, and by the names that the protocol has, not the world."""
    two = sought("two p: p.role == LEADING")
    assert two["address"].endswith("at=2&way=02")
    named = sought("p1.role == LEADING")
    assert named["state"] == "found"
    view = get("view", address=named["address"]).json["place"]
    assert next(f for f in view["fields"] if f["name"] == "role")["cells"][1]["now"] == "LEADING"
    own = sought("one p: p.role == LEADER", address=address_of(OWN).text)
    roles = next(f for f in get("view", address=own["address"]).json["place"]["fields"] if f["name"] == "role")["cells"]
    assert sorted(cell["now"] for cell in roles) == ["FOLLOWER", "FOLLOWER", "LEADER"]
    world = get("search", address=address_of(OWN).text, here=False, expression="some p: p.role == LEADING")
    assert "there is no LEADING; did you mean LEADER" in world.json["error"]  # the world's, and another number


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("some p: p.rol == LEADING", "a process has no rol; did you mean role?"),
        ("__import__('os').getcwd() == 1", "the only function of an expression is len"),
        ("(lambda: 1)() == 1", "the only function of an expression is len"),
        ("[p for p in (1, 2)] == 1", "cannot have"),
        ("s.role == 1", "there is no s"),
        ("some role: role == 1", "call the process something else"),
        ("some if: True", "call the process something else"),
        ("p7.role == 1", "there is no p7"),
        ("1 if True else 2", "cannot have"),
        ("'x' == 'y'", "whole numbers"),
        ("some p: p.history.__class__ == 1", "there is no __class__"),
        ("some p:", "this is not an expression"),
        ("(" * 400, "this is not an expression"),
        ("1 + " * 120 + "1 == 1", "too long"),
        ("x" * 501, "at most 500 characters"),
    ],
)
def test_what_is_no_expression_is_refused(expression: str, why: str) -> None:
    """Only names, numbers and comparisons of the language are read: nothing of Python is evaluated."""
    found = get("search", address=START, here=False, expression=expression)
    assert found.status == 400
    assert why in found.json["error"]


def test_a_search_knows_roles() -> None:
    """A field of a role is of its processes: of these `all` are, and of another it is not asked."""
    model = Model(Configuration("examples/two_phase_commit.py"))
    said = words_of_search(model)
    assert {"coordinator1", "participant2"} <= {*said}
    for expression, found in (
        ("all p: p.phase == 1", True), ("participant1.phase == 1", True), ("one p: p.phase == 1", False),
        ("all p: p.outcome == 0", True), ("no p: p.phase == 1 and p != participant3", False),
    ):  # fmt: skip
        p, functions = searched(expression, model)
        state = model.program.initial()
        kept_away = ContinuedModel(model.configuration, state.key(), functions).program.python[p.holds.__name__]
        for participant in (1, 2, 3):
            state.phase[participant] = 1
        assert kept_away(state) == (not found)
    for expression, why in (
        ("coordinator1.phase == 1", "has no phase"),
        ("p0.begun and p1.begun", "p1 has no begun"),
        ("some p: p.phase == 1 and p.begun", r"no process has phase \(participant\) and begun"),
    ):
        with pytest.raises(WalkError, match=why):
            searched(expression, model)


def test_an_expression_of_other_types_is_no_search() -> None:
    assert "cannot be compared" in sought("some p: p.history == 3")["sentence"]


@pytest.mark.slow(seconds=1)
def test_a_search_ends_when_it_is_cancelled() -> None:
    """Cancelled, a search of many states ends; closing the server ends all of them."""
    service, app = served(BROKEN, bounds=Bounds(threads=1, time_limit=60))
    job = ask(
        app, Query("job", {"address": "zab?nodes=4", "goal": "violation", "property": "agreement", "here": False})
    )
    service.close()
    thread = service.jobs.all[job.json["job"]].thread
    assert thread is not None
    thread.join(30)
    assert ask(app, Query("progress", {"job": 1})).json["state"] == "cancelled"


# --- a page without a server -----------------------------------------------------------------------


def test_a_saved_page_has_the_places_around_a_walk() -> None:
    """Every place up to so many steps away from the walk is in the file, and is what the server gives there."""
    saved = get("page", address=f"{START}&at=2&way=0000", levels=1)
    data = opened(saved.json["text"])
    way = "0000"
    for k in range(5):
        at = way[:k]
        steps = data["views"][at]["steps"]
        assert all(f"{at}{s['index']}" in data["views"] for s in steps if not s["fails"])
    view = get("view", address=f"{START}&way=0001").json
    mine = data["views"]["0001"]
    assert {k: v for k, v in mine.items() if k != "picture"} == view["place"]
    for kind in ("desk", "phone"):
        there = view["picture"][kind]["body"]
        assert "".join(data["parts"][k] for k in mine["picture"][kind]["body"]) == there
    assert "00011" not in data["views"]
    assert "http://127" not in saved.json["text"]
    assert TOKEN not in saved.json["text"]


# --- two models ------------------------------------------------------------------------------------


def test_a_known_bug_is_compared_with_its_fix_first() -> None:
    """The release of a row says what happens there, and is compared first with what it lacks: its own fix, once."""
    request = request_of_row("ZK-4643")
    names = [name for name, _ in others_of(request)]
    assert names[0] == "this release with the fix 4643: currentEpoch is written after the log"
    assert names.count(names[0]) == 1
    assert "the fix 3104" not in " ".join(names)  # there is none without a setting that the row does not have
    row = row_of(request.configuration())
    assert row is not None
    assert row.issue == "4643"
    assert row_of(BROKEN.configuration()) is row_of(WalkRequest(ModelRequest("zookeeper")).configuration()) is None


def test_two_models_differ_at_the_rule_that_is_changed() -> None:
    """The violating walk of a variant, taken without it: the same up to where the rule is asked, then a step that the
    protocol does not have; a model with itself is refused, and one of the same text differs nowhere."""
    sound = get("others", address=GOOD).json["others"]
    assert [name for name, _ in sound] == ["zab without small-quorum"]
    found = get("compare", address=GOOD, other=sound[0][1]).json
    first = found["first"]
    here = get("view", address=f"{START}&at={first['at']}&way={'0' * 11}").json["place"]
    there = get("view", address=first["address"]).json["place"]
    assert there["depth"] == here["depth"] == first["at"] > 0
    named = lambda place: {s["headline"] for s in place["steps"]}  # noqa: E731
    assert named(here) - named(there) == set(first["left"])
    before = get("view", address=f"{START}&at={first['at'] - 1}&way={'0' * 11}").json["place"]
    way = first["address"].split("way=")[1][: first["at"] - 1]
    theirs = get("view", address=f"{sound[0][1]}&way={way}").json["place"]
    assert named(before) == named(theirs)
    assert found["taken"] < 11
    assert "does not take step" in found["sentence"]
    assert get("compare", address=GOOD, other=START).status == 400
    same = get("compare", address=GOOD, other=START.replace("timeouts=0", "timeouts=1")).json
    assert same["taken"] == 11
    assert same["first"]["at"] == 1  # who waits may give up: here first, and in every state after it
    assert same["first"]["right"] == ["p0: timeout"]


def test_side_by_side_one_follows_the_other() -> None:
    """Whichever leads, the other follows it as far as it has its steps; steps and fields that differ are named at the
    places where both then stand. Two places of one model stand beside each other too."""
    sound = get("others", address=START).json["others"][0][1]
    led = get("pair", left=f"{START}&at=2&way=000", right=sound, leads="left").json
    assert get("view", address=led["follows"]).json["place"]["depth"] == 2
    assert (led["together"], led["refused"], led["first"]) == (True, "", 2)
    assert led["marks"]["left"] == {"depth": 2, "steps": [0], "fields": ["stage", "new_epoch", "to_follower"]}
    assert led["marks"]["right"] == {"depth": 2, "steps": [], "fields": ["stage", "new_epoch", "to_follower"]}
    early = get("pair", left=f"{START}&at=1&way=000", right=sound, leads="left").json
    assert get("view", address=early["follows"]).json["place"]["depth"] == 1
    assert early["marks"]["left"] == early["marks"]["right"] == {"depth": 1, "steps": [], "fields": []}
    beyond = get("pair", left=sound, right=f"{START}&at=3&way=000", leads="right").json
    assert get("view", address=beyond["follows"]).json["place"]["depth"] == 2
    assert (beyond["together"], beyond["marks"]["left"]["depth"], beyond["marks"]["right"]["depth"]) == (False, 2, 3)
    assert "The left does not take step 3" in beyond["sentence"]
    alone = get("pair", left=f"{START}&at=1&way=0", right=f"{START}&at=1&way=2", leads="").json
    assert (alone["first"], alone["follows"], alone["together"]) == (None, "", False)
    assert "role" in alone["marks"]["left"]["fields"]
    assert alone["sentence"].startswith("Each continues separately.")


# --- a file that is edited -------------------------------------------------------------------------


def test_a_file_that_is_edited_is_read_again(tmp_path: Path) -> None:
    """Saved with another guard, the walk is taken again up to the step that is no longer possible; saved with an error,
    that is said until it is mended."""
    file = tmp_path / "raft.py"
    text = Path("examples/raft_election.py").read_text("utf-8")
    file.write_text(text, "utf-8")
    own = WalkRequest(ModelRequest(str(file)))
    _, app = served(own)
    give = lambda what, **body: ask(app, Query(what, body))  # noqa: E731
    start = address_of(own).text
    view = give("view", address=f"{start}?way=00").json
    assert view["reloads"]
    assert not give("watch", address=view["address"]).json["changed"]
    file.write_text(f"{text}\n# a remark\n", "utf-8")
    assert give("watch", address=view["address"]).json["changed"]
    for asked in ("trace", "job", "search"):  # these would be of the text that there is
        found = give(asked, address=view["address"], goal="violation", property="", here=False, expression="NODES == 1")
        assert "reload it first" in found.json["error"]
    again = give("reload", address=view["address"]).json
    assert "all 2 steps are possible as before" in again["sentence"]
    assert give("view", address=again["address"]).json["place"] == view["place"]
    assert give("view", address=view["address"]).status == 400  # of the text that there was
    file.write_text(text.replace("return s.role[p] != LEADER", "return s.role[p] == LEADER"), "utf-8")
    stopped = give("reload", address=again["address"]).json
    assert "step 1 is no longer possible" in stopped["sentence"]
    file.write_text("def broken(:\n", "utf-8")
    assert give("reload", address=stopped["address"]).status == 400
    assert "this is not Python" in give("watch", address=stopped["address"]).json["error"]
    file.write_text(text, "utf-8")
    assert give("view", address=give("reload", address=stopped["address"]).json["address"]).status == 200


# --- lines -----------------------------------------------------------------------------------------


def test_lines_that_ran_are_told_from_those_that_might() -> None:
    """After one campaign of Raft its handler ran; on the way nobody has received a vote, and a receipt is possible."""
    start = address_of(OWN).text
    functions = {f["name"]: f for f in get("cover", address=f"{start}?way=0").json["functions"]}
    assert functions["campaign"]["never"] == functions["campaign"]["possible"] == 0
    assert functions["campaign"]["ran"] > 5
    asked = functions["on_request_vote"]
    assert (asked["ran"], asked["possible"] > 0) == (0, True)
    assert functions["on_vote"]["never"] > 0
    assert {"campaign", "may_campaign", "catch_up"} <= functions.keys()
    assert not {"state", "messages", "always"} & functions.keys()  # what declares, and properties, no step runs
    before = {f["name"]: f for f in get("cover", address=start).json["functions"]}
    assert before["campaign"]["ran"] == 0 < before["campaign"]["possible"]


def run_through(app: Guard, address: str) -> Any:
    """What came of looking for lines that never run."""
    job = ask(app, Query("lines", {"address": address})).json["job"]
    while (now := ask(app, Query("progress", {"job": job})).json)["state"] == "running":
        time.sleep(0.02)
    return now


@pytest.mark.slow(seconds=1)
def test_a_line_that_no_run_reaches_is_found() -> None:
    """Of two processes no candidate hears of another leader of its term, which has its vote: that line is the only one
    that did not run in all states; with fewer states no line is said never to run, and where every line ran no more is
    looked at."""
    own = WalkRequest(ModelRequest(OWN.model.protocol, nodes=2, budgets={"crashes": 0}))
    found = run_through(served(own)[1], address_of(own).text)
    missing = {f["name"]: [line[1] for line in f["lines"] if line[2] == "never"] for f in found["functions"]}
    assert {name: lines for name, lines in missing.items() if lines} == {
        "on_heartbeat": ["        s.role[p] = FOLLOWER"]
    }
    assert found["complete"]
    c, layout = own.configuration(), model(own.configuration()).program.layout
    edge, states = [model(c).program.initial().key()], set()
    while edge:  # a state is known by its JSON: the order of what is in flight is none of it
        states |= {json.dumps(state_json(StateView(layout, data))) for data in edge}
        after = (new[: layout.size] for data in edge for _, new in python_successors(c, data))
        edge = list({json.dumps(state_json(StateView(layout, data))): data for data in after}.items())
        edge = [data for said, data in edge if said not in states]
    assert found["sentence"].startswith(f"1 line never ran: all {len(states)} states within the budgets")
    few = run_through(served(own, bounds=Bounds(threads=1, max_states=3))[1], address_of(own).text)
    assert not few["complete"]
    assert "1 line did not run in 100 random walks and 3 states: not all states were" in few["sentence"]
    every = run_through(server()[1], address_of(OWN).text)
    assert every["sentence"].startswith("every line and every step ran, within")
