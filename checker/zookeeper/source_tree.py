"""The Java sources of ZooKeeper's server, in a folder or in a commit of a git repository.

The tree is not trusted: nothing is run, symbolic links are not followed, and no file above a size is read.
"""

from __future__ import annotations

import os
import re
import subprocess
from abc import ABC, abstractmethod
from itertools import islice
from pathlib import Path, PurePosixPath

from checker.errors import RequestError
from checker.zookeeper.java_syntax import JavaClass, Unparsed, read_java
from zabspec.files import Unreadable, read_bytes, reason

ROOTS = ("zookeeper-server/src/main/java", "src/java/main")  # from 3.5.5 and 3.4.14 on, and before
PARTS = ("src/main/java", ".")  # of a folder: the module alone, and an unpacked jar of sources
BUILD_FILES = ("pom.xml", "META-INF/maven/org.apache.zookeeper/zookeeper/pom.xml")
SERVER = "org/apache/zookeeper/server/quorum"  # a file that no other project has
LARGEST = 1 << 20  # bytes of a file; ZooKeeper's largest is 150 KB
MOST_FILES = 20_000  # ZooKeeper has about 1,000
VERSION = re.compile(r"<artifactId>parent</artifactId>.*?<version>\s*([\w.\-]+)\s*</version>", re.DOTALL)


class SourceTree(ABC):
    """A tree of sources.

    Attributes:
        words: its description in messages.
        paths: of the Java files of the server, by their names without `.java`.
    """

    words: str

    def __init__(self) -> None:
        self.paths: dict[str, list[str]] = {}
        for path in self.listed():
            self.paths.setdefault(PurePosixPath(path).stem, []).append(path)
        self.parsed: dict[str, dict[str, JavaClass] | str] = {}

    @abstractmethod
    def listed(self) -> list[str]:
        """Return the paths of the Java files of the server.

        Raises:
            RequestError: this is not a tree of ZooKeeper.
        """

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            Unreadable: the file is not there, too large, or not a regular one.
        """

    def classes(self, path: str) -> dict[str, JavaClass] | str:
        """Return the classes of a file by their names, or why they are not known."""
        if path not in self.parsed:
            try:
                self.parsed[path] = read_java(self.read(path))
            except Unreadable as problem:
                self.parsed[path] = f"{path}: {reason(problem)}"
            except Unparsed as problem:
                self.parsed[path] = f"{path}: {problem}"
        return self.parsed[path]

    def files_of(self, name: str) -> list[str]:
        """Return the paths of the files that may declare a class of a simple name: nested, if no file is named so."""
        if name not in self.paths:
            declares = re.compile(rf"\b(?:class|interface|enum)\s+{re.escape(name)}\b".encode())
            found = [path for paths in self.paths.values() for path in paths if self.has(path, declares)]
            declared = ((path, self.classes(path)) for path in found)
            self.paths[name] = [path for path, of in declared if isinstance(of, str) or name in of]
        return self.paths[name]

    def has(self, path: str, pattern: re.Pattern[bytes]) -> bool:
        """Return whether a file can be read, and contains a pattern."""
        try:
            return pattern.search(self.read(path)) is not None
        except Unreadable:
            return False

    def version(self) -> str:
        """Return the version in the tree's build file; empty if there is none."""
        for name in BUILD_FILES:
            try:
                found = VERSION.search(self.read(name).decode(errors="replace"))
            except Unreadable:
                continue
            if found:
                return found[1]
        return ""

    def not_one(self) -> RequestError:
        return RequestError(f"{self.words} is not a source tree of ZooKeeper: it has no {ROOTS[0]}/{SERVER}")


class FolderTree(SourceTree):
    """A folder in its current state."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.words = folder, str(folder)
        super().__init__()

    def listed(self) -> list[str]:
        if not self.folder.is_dir():
            raise RequestError(f"{self.words} is not a folder")
        root = next((r for r in (*ROOTS, *PARTS) if (self.folder / r / SERVER).is_dir()), None)
        if root is None:
            raise self.not_one()
        found = list(islice((self.folder / root).rglob("*.java"), MOST_FILES + 1))
        if len(found) > MOST_FILES:
            raise RequestError(f"{self.words} has more than {MOST_FILES:,} Java files: it is not a tree of ZooKeeper")
        return sorted(path.relative_to(self.folder).as_posix() for path in found)

    def read(self, path: str) -> bytes:
        place = self.folder / path
        if place.is_symlink():
            raise Unreadable(0, "this is a symbolic link, which is not followed")
        try:
            return read_bytes(place, LARGEST)
        except (OSError, ValueError) as problem:
            raise Unreadable(0, reason(problem)) from None


class Blobs:
    """The blobs of a repository that were read: their content, and their classes, which commits share."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.classes: dict[str, dict[str, JavaClass] | str] = {}


class CommitTree(SourceTree):
    """A commit of a git repository, whose work tree is ignored.

    Args:
        known: the blobs of other commits that were read already.
    """

    def __init__(self, repository: Path, commit: str, known: Blobs | None = None) -> None:
        self.known = known if known is not None else Blobs()
        self.repository, self.commit, self.words = repository, commit, f"commit {commit[:9]} of {repository}"
        self.blobs: dict[str, tuple[str, int]] = {}
        super().__init__()

    def listed(self) -> list[str]:
        words = ("ls-tree", "--full-tree", "-r", "-l", "-z", self.commit, "--", *ROOTS, "pom.xml")
        listed = git(self.repository, *words)
        for line in listed.decode(errors="surrogateescape").split("\0"):
            if line:
                facts, path = line.split("\t", 1)
                mode, _, blob, size = facts.split()
                if mode.startswith("100"):
                    self.blobs[path] = (blob, int(size))
        out = [path for path in self.blobs if path.endswith(".java")]
        if not any(path.startswith(f"{root}/{SERVER}/") for root in ROOTS for path in out):
            raise self.not_one()
        return out

    def classes(self, path: str) -> dict[str, JavaClass] | str:
        blob = self.blobs[path][0] if path in self.blobs else ""
        if blob not in self.known.classes:
            self.known.classes[blob] = super().classes(path)
        return self.known.classes[blob]

    def read(self, path: str) -> bytes:
        if path not in self.blobs:
            raise Unreadable(0, "it is not a regular file of that commit")
        blob, size = self.blobs[path]
        if size > LARGEST:
            raise Unreadable(0, f"it is larger than {LARGEST:,} bytes")
        if blob not in self.known.content:
            self.read_all()
        if blob not in self.known.content:
            raise Unreadable(0, "the repository does not have its content")
        return self.known.content[blob]

    def read_all(self) -> None:
        """Read every file of the commit that was not read yet, in one run of git."""
        wanted = {blob for blob, size in self.blobs.values() if size <= LARGEST and blob not in self.known.content}
        given = "".join(f"{blob}\n" for blob in sorted(wanted)).encode()
        out, at = git(self.repository, "cat-file", "--batch", given=given), 0
        while at < len(out):
            end = out.index(b"\n", at)
            blob, *kind = out[at:end].decode().split()
            at = end + 1
            if len(kind) == 2:  # not "missing"
                self.known.content[blob] = out[at : at + int(kind[1])]
                at += int(kind[1]) + 1


def commit_of(repository: Path, revision: str) -> str:
    """Return the commit that a revision names.

    Raises:
        RequestError: there is no git, no repository or no such revision.
    """
    name = f"{revision}^{{commit}}"
    return git(repository, "rev-parse", "--verify", "--end-of-options", name).decode().strip().splitlines()[-1]


def common(repository: Path, one: str, other: str) -> str:
    """Return the newest commit that two commits have in common.

    Raises:
        RequestError: there is none, as in a clone without history.
    """
    return git(repository, "merge-base", one, other).decode().split()[0]


def git(repository: Path, *words: str, given: bytes = b"") -> bytes:
    """Return what git prints. The repository's own configuration may be hostile, so nothing of it is run.

    Raises:
        RequestError: git is not installed, or refuses.
    """
    safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"]
    try:
        done = subprocess.run(
            ["git", *safe, "-C", str(repository), *words],
            capture_output=True,
            check=False,
            input=given,
            env={**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"},
        )
    except OSError as problem:
        raise RequestError(f"--since needs git, which cannot be run: {problem.strerror}") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split()) or f"it does not know {words[-1]!r}"
        if words[0] in ("rev-parse", "merge-base"):
            shallow = "; a clone that is shallow has no earlier commits (`git fetch --unshallow`)"
            said += shallow if is_shallow(repository) else ""
        raise RequestError(f"git refuses: {said}")
    return done.stdout


def is_shallow(repository: Path) -> bool:
    """Return whether a clone has only the newest commits, as a CI job's often has."""
    return any((repository / place / "shallow").is_file() for place in (".git", "."))


def is_bare(repository: Path) -> bool:
    """Return whether a repository has no work tree.

    Raises:
        RequestError: there is no git, or no repository.
    """
    return git(repository, "rev-parse", "--is-bare-repository").strip() == b"true"
