"""A message that is sent and that nothing receives is a wrong question, unless the protocol declares it ignored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.own.conftest import EARLIER
from zabspec.authoring.declaration import ProtocolError
from zabspec.authoring.unused import unused
from zabspec.model import Configuration, Model

TEXT = EARLIER.read_text(encoding="utf-8")
CONNECTED = (Path(__file__).parent / "texts" / "one_value.py").read_text(encoding="utf-8")
FORGOTTEN = TEXT.replace("@receives\ndef on_vote", "def on_vote")
PASSED = FORGOTTEN.replace("def may_begin(", '''def answer(s: State, p: Node, q: Node, m: AnyMessage) -> None:
    send(s, p, q, m)


def may_begin(''').replace("import (\n", "import (\n    AnyMessage,\n")  # fmt: skip


def read(path: Path, text: str) -> None:
    path.write_text(text)
    Model(Configuration(str(path))).program  # noqa: B018


CHAIN = TEXT.replace("@receives\n", "").replace("import (\n", "import (\n    AnyMessage,\n")
CHAIN = CHAIN.replace("def may_begin(", '''def on_message(s: State, p: Node, source: Node, m: AnyMessage) -> None:
    if m.kind == PREPARE:
        on_prepare(s, p, source, m)
    elif m.kind == DECISION:
        on_decision(s, p, m)


def may_begin(''')  # fmt: skip
AT_THE_START = "            connect(s, p, 0)\n"
REFUSED = {
    "forgotten": (FORGOTTEN, "sends VOTE, which nothing receives"),
    "variable": (
        re.sub(r"send\(s, p, (\w+), (VOTE\([^\n]*\))\)", r"m = \2\n    send(s, p, \1, m)", FORGOTTEN),
        "sends VOTE, which nothing receives",
    ),
    "helper": (re.sub(r"send\((s, p, \w+, VOTE\()", r"answer(\1", PASSED), "sends VOTE, which nothing receives"),
    "chain": (
        CHAIN,
        "sends VOTE, which nothing receives",
    ),
    "leader": (
        CONNECTED.replace("@receives\ndef on_wrote", "def on_wrote"),
        "sends WROTE, which no leader receives",
    ),
    "wrong end": (
        CONNECTED.replace("send_to_follower(s, l, f, WRITE(term=s.term[l]))", "send_to_follower(s, l, f, WROTE())"),
        "sends WROTE, which no follower receives",
    ),
    "start": (
        CONNECTED.replace(AT_THE_START, f"{AT_THE_START}            send_to_leader(s, p, WRITE(term=1))\n"),
        "sends WRITE, which no leader receives",
    ),
    "variant": (
        CONNECTED.replace("    s.value[f] = m.term\n    send_to_leader(s, f, WROTE())\n\n\nPROTOCOL",
                          "    send_to_leader(s, f, WRITE(term=1))\n\n\nPROTOCOL"),
        "keeps_old_term sends WRITE, which no leader receives",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_nothing_receives_is_refused_with_the_line_of_a_send(tmp_path: Path, name: str) -> None:
    text, said = REFUSED[name]
    assert text not in (TEXT, CONNECTED)
    with pytest.raises(ProtocolError, match=rf"mine\.py:\d+: \w+ {said}|mine\.py:\d+: {said}") as caught:
        read(tmp_path / "mine.py", text)
    line = int(str(caught.value).partition("mine.py:")[2].partition(":")[0])
    assert re.search(r"VOTE\(|WROTE\(|WRITE\(|send|answer", text.splitlines()[line - 1])


def test_the_command_ends_with_two(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FORGOTTEN)
    ran = CliRunner().invoke(main, ["--protocol", str(path)])
    assert ran.exit_code == 2
    assert 'ignored=("VOTE",)' in ran.stderr
    assert [line[:4] for line in ran.stderr.splitlines()[1:]] == ["    "] * 2, "the line of the send, and a caret"


def test_what_is_declared_ignored_may_be_sent(tmp_path: Path) -> None:
    read(tmp_path / "mine.py", FORGOTTEN.replace("    state=state,", '    state=state,\n    ignored=("VOTE",),'))


@pytest.mark.parametrize(
    ("ignored", "said"), [("VOTE", "VOTE is received here, but declared ignored"), ("VOTES", "has no such message")]
)
def test_what_is_declared_ignored_is_sent_to_nobody(tmp_path: Path, ignored: str, said: str) -> None:
    path = tmp_path / "mine.py"
    with pytest.raises(ProtocolError, match=said):
        read(path, TEXT.replace("    state=state,", f'    state=state,\n    ignored=("{ignored}",),'))


def test_a_hook_that_does_something_with_all_receives_all(tmp_path: Path) -> None:
    text, _ = REFUSED["chain"]
    read(
        tmp_path / "mine.py",
        text.replace("    elif m.kind == DECISION:", "    else:\n        s.phase[p] = 1\n    if m.kind == DECISION:"),
    )


def test_what_is_received_and_never_sent_is_a_note(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    read(
        path,
        TEXT.replace("def messages(size):\n    return [", 'def messages(size):\n    return [Message("IDLE", {}), '),
    )
    assert "nothing sends IDLE" in unused(Model(Configuration(str(path))))
