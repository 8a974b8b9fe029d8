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
from checker.walk.continuing import Bounds
from checker.walk.page import ASSETS, MODULES, joined, opened, read
from checker.walk.served import address_of
from checker.walk.service import Service
from tests.walk.asking import BROKEN, HOST, OWN, TOKEN, Query, Response, ask, served
from traces import read_trace, verify
from traces.replay.replay import replay

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
        asked.what = source.choice(["view", "trace", "page", "job"])
        address = source.choice(ADDRESSES)
        asked.body = {
            "address": address,
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
        asked.what = source.choice(["page", "job", "progress", "cancel"])
        asked.body = {
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


def test_the_release_of_a_known_bug_says_what_happens_there() -> None:
    """Its row is among the facts at every place of its model, and of no other."""
    request = request_of_row("ZK-4643")
    row = row_of(request.configuration())
    assert row is not None
    assert row.issue == "4643"
    view = ask(served(request)[1], Query("view", {"address": address_of(request).text}))
    assert view.json["about"]["changed"][0].startswith("ZK-4643: ")
    assert row_of(BROKEN.configuration()) is row_of(WalkRequest(ModelRequest("zookeeper")).configuration()) is None


# --- a file that is edited -------------------------------------------------------------------------


def test_a_file_that_is_edited_is_read_again(tmp_path: Path) -> None:
    """Saved with another guard, the walk is taken again up to the step that is no longer possible; saved with an error,
    that is said until it is mended."""
    file = tmp_path / "raft.py"
    text = Path("examples/raft_election.py").read_text("utf-8")
    file.write_text(text, "utf-8")
    own = WalkRequest(ModelRequest(str(file)))
    _, app = served(own)

    def give(what: str, **body: Any) -> Any:
        return ask(app, Query(what, body))

    start = address_of(own).text
    view = give("view", address=f"{start}?way=00").json
    assert view["reloads"]
    assert not give("watch", address=view["address"]).json["changed"]
    file.write_text(f"{text}\n# a remark\n", "utf-8")
    assert give("watch", address=view["address"]).json["changed"]
    for asked in ("trace", "job"):  # these would be of the text that there is
        found = give(asked, address=view["address"], goal="violation", property="", here=False)
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


READS = '''
from __future__ import annotations

from pathlib import Path
from typing import Annotated

from zabcheck.language import Each, Fields, Node, Range, action, declare, final, safety, stored

LIMIT = int(Path(__file__).with_name("limit.txt").read_text())


class State(Fields):
    x: Each[Node, Annotated[int, Range(0, 3)]] = stored("x")


@action(budget="begins")
def begin(s: State, p: Node) -> None:
    s.x[p] = LIMIT


def begun(s: State) -> bool:
    """One has begun."""
    return s.begins_left == 0


@final
def ended(s: State) -> bool:
    return s.begins_left == 0


@safety(witness=begun)
def small(s: State) -> bool:
    """x divides."""
    return all(4 // (s.x[p] - 2) < 9 for p in range(s.NODES))


PROTOCOL = declare(__name__, nodes=2, budgets={"begins": 1}, deadlock=True)
'''


def test_a_number_that_is_read_is_part_of_an_address(tmp_path: Path) -> None:
    """Of another number than when the walk began no view, trace or search is; reloaded, it is another model."""
    (tmp_path / "reads.py").write_text(READS, "utf-8")
    (tmp_path / "limit.txt").write_text("0", "utf-8")
    own = WalkRequest(ModelRequest(str(tmp_path / "reads.py")))
    _, app = served(own)

    def give(what: str, **body: Any) -> Any:
        return ask(app, Query(what, body))

    view = give("view", address=f"{address_of(own).text}?way=0").json
    (tmp_path / "limit.txt").write_text("1", "utf-8")
    for asked in ("trace", "job"):
        found = give(asked, address=view["address"], goal="violation", property="", here=False)
        assert "reload it first" in found.json["error"]
    again = give("reload", address=view["address"]).json["address"]
    assert again != view["address"]
    fields = give("view", address=again).json["place"]["fields"]
    assert next(f for f in fields if f["name"] == "x")["cells"][0]["now"] == "1"
    assert give("view", address=view["address"]).status == 400


@pytest.mark.parametrize(
    ("limit", "said"), [("2", "no-runtime-error: 1 step"), ("4", "no-runtime-error by a step from there: 0 steps")]
)
def test_a_run_time_error_is_a_violation(limit: str, said: str, tmp_path: Path) -> None:
    """One in evaluating a property, and one in a step; a premise is met beside a property that cannot be evaluated."""
    (tmp_path / "reads.py").write_text(READS, "utf-8")
    (tmp_path / "limit.txt").write_text(limit, "utf-8")
    own = WalkRequest(ModelRequest(str(tmp_path / "reads.py")))
    service, app = served(own)
    start = address_of(own).text

    def give(what: str, **body: Any) -> Any:
        return ask(app, Query(what, body)).json

    number = give("job", address=start, goal="violation", property="", here=False)["job"]
    while (found := give("progress", job=number))["state"] == "running":
        time.sleep(0.02)
    assert found["sentence"].endswith(said)
    there = give("view", address=found["address"])["place"]
    rows = {p["name"]: (p["verdict"], p["premise_at"]) for p in there["properties"]}
    met = there["depth"] or None
    assert rows.pop("deadlock") == ("holds", 0)
    assert rows == {"small": ("undecided" if met else "holds", met), "no-runtime-error": ("violated", 0)}
    asked = give("job", address=start, goal="witness", property="deadlock", here=True)
    assert "has no premise" in asked["error"]
    marked = [s["violates"] for s in give("view", address=start)["place"]["steps"]]
    assert marked == [["no-runtime-error"]] * 2
    service.close()
