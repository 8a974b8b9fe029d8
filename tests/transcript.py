"""Transcripts: commands of zabcheck as a person types them, each with all that it prints.

A file of `tests/transcripts/` is read a line at a time. `#` begins a comment; what is indented by four characters is
output of the command above it, and `pytest tests/commands/test_transcripts.py --rewrite` writes it.

    file NAME             the lines below that begin with `| ` are its text
    copy PATH [NAME]      a file or folder of this repository, here by its own or another name
    unpack PATH           a tar archive of this repository
    edit NAME             below, lines that begin with `- ` are replaced by those that begin with `+ `
    == TITLE              a case: files are as they were above the first case
    $ zabcheck WORDS      run it; behind `| first N` the first lines of stdout alone are output, behind `| grep WORD`
                          those that have it

Output that begins with four spaces is of stdout, with `  ! ` of stderr; `  = ` is an exit code other than 0. What a
machine decides (times, rates, memory, threads, the folder) is `_`.
"""

from __future__ import annotations

import contextlib
import difflib
import re
import shlex
import shutil
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.faces import every_face

TOP = Path(__file__).parent.parent
OUTPUT = ("    ", "  ! ", "  = ")
MEASURED = re.compile(
    r"\d[\d.,]*(?= (?:ms|s|MB|MiB|GB|CPU-s|CPU s|threads?)\b|/s\b| per CPU-second)|(?<= )\d+\.\d$"
    r"|\w[\w.]*\.\.\.\w+"  # a name of a module or an address, which is cut
    r"|(?<=after )\d+(?= steps? from .*found among)"  # of the run that z3 chose: what it was asked before counts, too
)
PIPE = re.compile(r" \| (first|grep) (.+)$")


@dataclass
class Transcript:
    """A transcript as it is run in a folder.

    Attributes:
        name: of its file, for complaints.
        folder: where its commands run.
        files: the texts that are there now.
        kept: those that are there at the beginning of each case.
        text: the transcript with the output that commands have now.
    """

    name: str
    folder: Path
    files: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] | None = None
    text: str = ""

    def run(self, text: str) -> str:
        """Return the text of a transcript with the output that its commands have now."""
        lines = list(enumerate(text.splitlines(), 1))
        while lines:
            at, line = lines.pop(0)
            if line.startswith(OUTPUT):
                continue
            self.text += f"{line}\n"
            word, _, rest = line.partition(" ")
            if word in ("file", "edit"):
                below = []
                while lines and lines[0][1][:1] in ("|", "-", "+"):
                    below.append(lines.pop(0)[1])
                self.text += "".join(f"{one}\n" for one in below)
                if word == "file":
                    self.write(rest, "".join(f"{one[2:]}\n" for one in below))
                else:
                    self.write(rest, edited(self.files[rest], below, f"{self.name}:{at}"))
            elif word in ("copy", "unpack"):
                path, _, name = rest.partition(" ")
                self.place(word, TOP / path, name or Path(path).name)
            elif word == "==":
                self.begin()
            elif word == "$":
                self.text += "".join(f"{one}\n" for one in self.printed(rest))
            elif line and not line.startswith("#"):
                raise ValueError(f"{self.name}:{at}: {line!r} is no line of a transcript")
        return self.text

    def write(self, name: str, text: str) -> None:
        self.files[name] = text
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def place(self, word: str, source: Path, name: str) -> None:
        if word == "unpack":
            with tarfile.open(source) as packed:
                packed.extractall(self.folder, filter="data")
        elif source.is_dir():
            shutil.copytree(source, self.folder / name)
        else:
            self.write(name, source.read_text(encoding="utf-8"))

    def begin(self) -> None:
        """Begin a case, in which all files are as they were above the first."""
        if self.kept is None:
            self.kept = dict(self.files)
        for name in self.files.keys() - self.kept.keys():
            (self.folder / name).unlink()
        self.files.clear()
        for name, text in self.kept.items():
            self.write(name, text)

    def printed(self, command: str) -> Iterator[str]:
        """Run a command, and yield what it prints. What ends with a traceback is no output but a failure."""
        pipe = PIPE.search(command)
        program, *words = shlex.split(command[: pipe.start()] if pipe else command)
        assert program == "zabcheck", command
        with contextlib.chdir(self.folder), every_face() as wrong:
            result = CliRunner().invoke(main, words)
        assert wrong == [], command
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
        assert "Traceback" not in result.output, (command, result.output)
        if result.exit_code == 2 and "--json" not in words:
            assert (result.stdout, result.stderr[:10]) == ("", "zabcheck: "), (command, result.output)
        out = self.lines(result.stdout)
        if pipe and pipe[1] == "first":
            out = out[: int(pipe[2])]
        elif pipe:
            out = [line for line in out if pipe[2] in line]
        yield from (f"    {line}".rstrip() if line else "    " for line in out)
        yield from (f"  ! {line}" for line in self.lines(result.stderr))
        if result.exit_code:
            yield f"  = {result.exit_code}"

    def lines(self, output: str) -> list[str]:
        """Return the lines of an output without what the machine decides, and how wide that made its columns."""
        out = []
        for line in output.replace(f"{self.folder}", "_").replace(f"{TOP}/", "").splitlines():
            without = MEASURED.sub("_", line)
            out.append((without if without == line else re.sub(r"(?<=\S) {2,}", "  ", without)).rstrip())
        return out


def compare(path: Path, folder: Path, request: pytest.FixtureRequest) -> None:
    """Run a transcript in a folder, and compare it with what it was; `--rewrite` keeps it as it is now."""
    recorded = path.read_text(encoding="utf-8")
    folder = folder.resolve() / "here"  # by this name, where a path is shown with its folder
    folder.mkdir()
    now = Transcript(path.stem, folder).run(recorded)
    if request.config.getoption("--rewrite"):
        path.write_text(now, encoding="utf-8")
    elif now != recorded:
        pytest.fail(difference(path.name, recorded, now), pytrace=False)


def edited(text: str, lines: list[str], where: str) -> str:
    """Return a text in which runs of `- ` lines are replaced by the runs of `+ ` lines below them.

    Raises:
        ValueError: the text does not have such lines exactly once.
    """
    for hunk in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)*)", "".join(f"{line}\n" for line in lines), re.MULTILINE):
        old, new = ("".join(f"{line[2:]}\n" for line in part.splitlines()) for part in hunk)
        if f"\n{text}".count(f"\n{old}") != 1:
            raise ValueError(f"{where}: there is not exactly one {old!r}")
        text = f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:]
    return text


def file_of(name: str, file: str) -> str:
    """Return the text of a file as it stands above the first case of `tests/transcripts/NAME.txt`."""
    text = (TOP / "tests" / "transcripts" / f"{name}.txt").read_text(encoding="utf-8").partition("\n== ")[0]
    lines = text.partition(f"\nfile {file}\n")[2].splitlines()
    return "".join(f"{line[2:]}\n" for line in takewhile(lambda line: line.startswith("|"), lines))


def cases(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the title of each case of a text, `== TITLE`, and the lines below it but comments and recorded output."""
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        title, *lines = part.rstrip("\n").split("\n")
        yield title, [line for line in lines if line and line[0] not in "# "]


def compare_cases(path: Path, said: Callable[[str, list[str]], Iterable[str]], request: pytest.FixtureRequest) -> None:
    """Compare the output for each case of a text with the output recorded below it; `--rewrite` records it."""
    text = path.read_text(encoding="utf-8")
    now = re.split(r"^== ", text, maxsplit=1, flags=re.MULTILINE)[0]
    for title, lines in cases(text):
        output = (f"    {line}".rstrip() for line in said(title, lines))
        now += "\n".join([f"== {title}", *lines, *output, "", ""])
    now = now.rstrip("\n") + "\n"
    if request.config.getoption("--rewrite"):
        path.write_text(now, encoding="utf-8")
    elif now != text:
        pytest.fail(difference(path.name, text, now), pytrace=False)


def difference(name: str, recorded: str, now: str) -> str:
    """Return how what is recorded differs from what commands print now, empty if they are equal."""
    return "\n".join(difflib.unified_diff(recorded.splitlines(), now.splitlines(), name, "now", n=6, lineterm=""))
