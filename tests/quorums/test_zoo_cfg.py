"""Our reading of zoo.cfg, and our quorums, are those of official servers.

`tests/data/zoo-cfg.json.xz` has what 3.4.14, 3.5.6, 3.6.3, 3.8.6 and 3.9.5 answered, as `python -m benchmarks.zoo_cfg
FOLDER --record FILE` records it: of 500 drawn quorum systems, 200 drawn files, and those that users reported.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.zoo_cfg import RELEASES, agree, drawn, ours
from checker.cli import main
from zabspec.ensemble import ConfigError
from zabspec.zoo_cfg import membership, parse, read_zoo_cfg

RECORDED: dict[str, Any] = json.loads(
    lzma.decompress((Path(__file__).parents[1] / "data" / "zoo-cfg.json.xz").read_bytes())
)
THREE = "".join(f"server.{k}=127.0.0.1:2888:3888\n" for k in (1, 2, 3))


@pytest.mark.parametrize("release", RELEASES)
def test_every_answer_is_that_of_the_official_server(release: str) -> None:
    answers = RECORDED["answers"][release]
    assert len(answers) > 700
    differ = [
        (text, theirs, mine)
        for text, theirs in zip(RECORDED["configs"], answers, strict=True)
        if not agree(mine := ours(text, release), theirs)
    ]
    assert differ == []


def test_the_draw_is_what_was_recorded() -> None:
    assert RECORDED["configs"][:700] == list(drawn(1))
    table = [line for line in RECORDED["answers"]["3.9.5"][:500] if not line.startswith("refused")]
    assert len(table) > 400
    assert len(set(table)) > 150  # of many kinds


def checked(folder: Path, text: str | bytes, *words: str) -> tuple[int, dict[str, Any]]:
    path = folder / "zoo.cfg"
    path.write_bytes(text.encode("latin-1") if isinstance(text, str) else text)
    done = CliRunner().invoke(main, ["quorums", str(path), "--json", *words])
    return done.exit_code, json.loads(done.stdout) if done.exit_code != 2 else {"error": done.stderr}


@pytest.mark.slow(seconds=2)
def test_the_command_finds_what_the_sets_of_java_show(tmp_path: Path) -> None:
    """`quorums` proves an intersection exactly where no two sets that Java calls quorums are disjoint."""
    negative = [
        (text, line)
        for text, line in zip(RECORDED["configs"], RECORDED["answers"]["3.9.5"], strict=True)
        if "=-" in text and "\t" in line and not line.startswith("refused")
    ]
    seen = set()
    for text, line in negative[::4]:
        table = int(line.split("\t")[2], 16)
        masks = [m for m in range(table.bit_length()) if table >> m & 1]
        disjoint = any(not a & b for a in masks for b in masks)
        wanted = 1 if disjoint else 0 if masks else 3
        assert checked(tmp_path, text)[0] == wanted, text
        seen.add(wanted)
    assert seen == {0, 1, 3}


def test_an_oracle_makes_one_of_two_servers_a_quorum(tmp_path: Path) -> None:
    two = THREE.replace("server.3=127.0.0.1:2888:3888\n", "") + "oraclePath=/var/oracle/mastership\n"
    code, report = checked(tmp_path, two)
    assert (code, report["disjoint_quorums"]) == (1, [[1], [2]])
    assert checked(tmp_path, two, "--release", "3.7.2")[0] == 0  # knows no oracle
    assert checked(tmp_path, THREE + "oraclePath=/var/oracle/mastership\n")[0] == 0  # of three voters none is asked
    (tmp_path / "zoo.cfg").write_text(two)
    refused = CliRunner().invoke(main, ["--quorums", str(tmp_path / "zoo.cfg"), "--depth", "1"])
    assert (refused.exit_code, "which no model has" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "warns"),
    [
        ("server.1=127.0.0.1:2888:3888\n" + THREE, "server.1 is given twice: the last counts"),
        ("\u00ef\u00bb\u00bf" + THREE, "byte order mark"),
        ("Server.4=127.0.0.1:2888:3888\n" + THREE, "'Server.4' is no key of the membership"),
        ("server4=127.0.0.1:2888:3888\n" + THREE, "'server4' is no key of the membership"),
    ],
)
def test_nothing_is_passed_over_without_a_word(tmp_path: Path, text: str, warns: str) -> None:
    code, report = checked(tmp_path, text)
    assert code == 0
    assert [warns in said for said in report["warnings"]] == [True]
    assert report["release"] == "3.9.5"


def test_the_dynamic_file_is_read_where_it_is_or_beside(tmp_path: Path) -> None:
    static = "standaloneEnabled=false\ndynamicConfigFile=/data/conf/zoo.cfg.dynamic.100000000\ndataDir=/data\n"
    code, report = checked(tmp_path, static)
    assert (code, "zoo.cfg.dynamic.100000000" in report["error"]) == (2, True)
    (tmp_path / "zoo.cfg.dynamic.100000000").write_text(THREE + "server.4=127.0.0.1:2888:3888:observer;2181\n")
    (tmp_path / "zoo.cfg.dynamic.next").write_text(THREE)
    code, report = checked(tmp_path, static)
    assert (code, report["participants"], report["observers"]) == (0, [1, 2, 3], [4])
    assert any("zoo.cfg.dynamic.next" in said for said in report["warnings"])
    found = read_zoo_cfg(tmp_path / "zoo.cfg")
    assert found.version == 0x100000000
    (tmp_path / "zoo.cfg.dynamic.100000000").write_text(THREE + "tickTime=2000\n")
    assert checked(tmp_path, static)[0] == 2
    with pytest.raises(ConfigError, match="which was not given"):
        _ = parse(static.encode()).voters


def test_several_addresses_need_an_option_of_the_jvm(tmp_path: Path) -> None:
    """As 3.6.3 and 3.9.5 answered: the same line in zoo.cfg does nothing."""
    text = (THREE + "server.4=127.0.0.1:2888:3888|127.0.0.2:2888:3888\nmultiAddress.enabled=true\n").encode()
    with pytest.raises(ConfigError, match="option of the JVM"):
        parse(text)
    option = "zookeeper.multiAddress.enabled=true"
    code, report = checked(tmp_path, text.decode(), "--server-option", option)
    assert (code, report["participants"]) == (0, [1, 2, 3, 4])
    (tmp_path / "java.env").write_text(f'export SERVER_JVMFLAGS="-Xmx1g -D{option}"\n')
    assert checked(tmp_path, text.decode(), "--server-option", str(tmp_path / "java.env"))[0] == 0
    assert "NAME=VALUE" in checked(tmp_path, text.decode(), "--server-option", "nothing")[1]["error"]


def test_the_membership_of_a_node_or_record_has_its_version() -> None:
    found, version = membership(THREE + "version=100000002")
    assert (found.participants, version) == ((1, 2, 3), 0x100000002)
    assert membership("server.1=a:1:2:participant;0.0.0.0:2181\nversion=0")[0].participants == (1,)
