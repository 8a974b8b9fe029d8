"""A handler acts as its own process alone: in what it sends and whatever else a world provides, by all it calls."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType

import pytest

from invariants.binding import full_namespace
from tests.models import import_text
from zabspec.language import LanguageError
from zabspec.language.front.frontend import FrontEnd
from zabspec.model import Configuration, Model
from zabspec.worlds import actor

HEAD = """from __future__ import annotations

from zabspec.history import *
from zabspec.language.python.lang import *
from zabspec.worlds.actor import *
from zabspec.zab import *


"""
TO = "CEPOCH(epoch=s.promised_epoch[l])"

# What the handler of l does in the name of f, who sent it something.
AS_ANOTHER = {
    "connect": "connect(s, f, l)",
    "disconnect": "disconnect(s, f)",
    "send_to_leader": f"send_to_leader(s, f, {TO})",
    "send_to_follower": f"send_to_follower(s, f, l, {TO})",
    "send": "send(s, f, l, Ack(zxid=last_zxid(s, l)))",
    "arm_timer": "arm_timer(s, f, ELECTION_TIMER)",
    "abcast": "l_3_1(s, l, abcast(s, f, 1, 1))",
    "abdeliver": "abdeliver(s, f, last(s.history[l]))",
    "accept": "accept(s, f, 1, last(s.history[l]))",
    "revise": "revise(s, f, s.history[l])",
    "end_pass": "end_pass(s, f)",
    "end_leadership": "end_leadership(s, f)",
    "end_synchronization": "end_synchronization(s, f)",
    "force": "force(s, f)",
    "wrote": "wrote(s, f)",
}
# The same by other ways: the text after the handler's first line, the line that is refused marked.
BY_WAYS = {
    "of a handler": "    to_election(s, f)  # BAD\n",
    "forgotten": "    forget(s, f)  # BAD\n",
    "in a loop": f"    for g in range(s.NODES):\n        send_to_follower(s, g, l, {TO})  # BAD\n",
    "by another name": f"    g = s.leader[l]\n    send_to_leader(s, g, {TO})  # BAD\n",
    "by its number": f"    send_to_leader(s, 0, {TO})  # BAD\n",
    "through a helper": (
        "    helps(s, l, f)\n\n\n"
        f"def helps(s: State, l: Node, f: Node) -> None:\n    send_to_leader(s, f, {TO})  # BAD\n"
    ),
    "through a helper of nobody": (
        "    helps(s, 1, f)\n\n\n"
        "def helps(s: State, k: int, f: Node) -> None:\n    abdeliver(s, f, Txn(epoch=1, counter=k, value=1))  # BAD\n"
    ),
    "through a helper of another": (
        "    helps(s, f)  # BAD\n\n\ndef helps(s: State, f: Node) -> None:\n    end_pass(s, f)\n"
    ),
    "through two": (
        "    helps(s, l, f)\n\n\n"
        "def helps(s: State, l: Node, f: Node) -> None:\n    again(s, f)  # BAD\n\n\n"
        "def again(s: State, f: Node) -> None:\n    end_pass(s, f)\n"
    ),
    "as the network": "    lose(s, l, f)  # BAD\n",
    "as a fault": "    crash(s, l)  # BAD\n",
    "as a whole step": "    apply(s, 0)  # BAD\n",
}


def refused(body: str, folder: Path, protocol: str = "zab") -> LanguageError:
    """Why the handler of process l, which hears of f, is refused."""
    text = f"{HEAD}def hears(s: State, l: Node, f: Node) -> None:\n{body}"
    module = import_text(folder, "hearing", text)
    own = {k: v for k, v in vars(module).items() if isinstance(v, FunctionType) and v.__module__ == module.__name__}
    program = Model(Configuration(protocol=protocol)).program
    names = full_namespace(Model(Configuration(protocol=protocol))) | own
    vars(module).update({k: v for k, v in names.items() if k not in vars(module)})  # as if it imported them
    front = FrontEnd(program.layout, names, program.types, program.handlers | set(own))
    with pytest.raises(LanguageError) as found:
        front.function("hears")
    assert text.split("\n")[found.value.line - 1].endswith("# BAD")
    return found.value


@pytest.mark.parametrize("name", AS_ANOTHER)
def test_a_handler_acts_as_no_other_process(name: str, tmp_path: Path) -> None:
    protocol = "db19" if name in ("send", "arm_timer") else "zab"
    error = refused(f"    {AS_ANOTHER[name]}  # BAD\n", tmp_path, protocol)
    assert error.reason == f"a handler calls {name} for its own process only: l"


@pytest.mark.parametrize("way", BY_WAYS)
def test_nor_by_any_other_way(way: str, tmp_path: Path) -> None:
    reason = refused(BY_WAYS[way], tmp_path).reason
    assert "own process only" in reason or "no world provides" in reason


def test_every_declaration_says_who_acts() -> None:
    """What a world provides is declared once, with the process that acts; the cases above are all that have one."""
    provided = {name: f.acts for name, f in vars(actor).items() if hasattr(f, "acts")}
    assert {name for name, acts in provided.items() if acts} == set(AS_ANOTHER)
    assert {name for name, acts in provided.items() if not acts} == {"choose", "durable", "establish"}
