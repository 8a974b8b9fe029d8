"""Run the commands whose output README.md and the pages here show, and insert the output.

    python docs/regenerate.py [FILE ...]
    python docs/regenerate.py --figures     only the tables of figures, which run nothing

Between `<!-- figures: FILE TABLE -->` and `<!-- end -->` stands a table of `benchmarks/results/FILE.json`, with the
command, the day and the machine of its measurement.

A block to fill is a fence that follows `<!-- run: COMMAND -->`. Nothing else is changed. With
`<!-- run: COMMAND, first: LINES -->` it shows so many lines of the output, and says how many are left out.

A page may write files, which its commands then find; all of it happens in a folder of its own. A fence that follows
`<!-- write: FILE -->` is added to the end of a file, two lines below; one that follows `<!-- write: FILE, before: TEXT
-->` is put above the first line that begins so; and in a fence that follows `<!-- change: FILE -->` lines that begin
with `+ ` replace those that begin with `- `. `<!-- unpack: ARCHIVE -->` unpacks an archive of this repository into that
folder, or a single file whose name ends with `.jsonl.xz`. `<!-- files -->` has all commands of a page run there: they
write files that later ones read.
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from checker.page_tables import table

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks/results"
FIGURES = re.compile(r"(<!-- figures: (\S+) (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
BLOCK = re.compile(
    r"<!-- (?P<what>run|write|change): (?P<said>[^>]+?) -->\n```(?P<kind>\w+)\n(?P<old>.*?)```", re.DOTALL
)
UNPACK = re.compile(r"<!-- unpack: (\S+) -->")
KEEP_HEAD, KEEP_TAIL = 60, 12  # of a long output: the first lines and the last


def with_figures(page: str) -> str:
    """Return a page with its tables of figures as their files have them."""
    return FIGURES.sub(lambda mark: f"{mark[1]}{figures(mark[2], mark[3])}\n{mark[5]}", page)


def figures(file: str, name: str) -> str:
    """Return a table of a file of figures as Markdown, and a line that says how it was measured."""
    one = json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8"))[name]
    rows = ([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in one["rows"])
    return f"{table(one['head'], rows)}\n\n`{one['command']}`; {one['date']}; {one['machine']}."


def printed(command: str, folder: Path | None) -> str:
    """Run a command, and return what it prints."""
    program = Path(sys.executable).parent / command.split()[0]
    done = subprocess.run([program, *command.split()[1:]], capture_output=True, text=True, check=False, cwd=folder)
    return done.stdout + done.stderr


def output_of(said: str, kind: str, folder: Path | None) -> str:
    """Return the output of a command, with its middle left out if it is long.

    Args:
        said: the command, and the number of lines of its output to show.
        kind: of the fence; one of text has the command as well.
        folder: where the command runs; None for the current one.
    """
    command, _, first = said.partition(", first: ")
    output = printed(command, folder).replace(f"{folder}/", "")
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    if first and len(lines) > int(first):
        lines[int(first) :] = [f"[{len(lines) - int(first)} lines left out]"]
    elif len(lines) > KEEP_HEAD + KEEP_TAIL + 1:
        left_out = len(lines) - KEEP_HEAD - KEEP_TAIL
        lines[KEEP_HEAD:-KEEP_TAIL] = [f"[{left_out} lines left out]"]
    return (f"$ {command}\n" if kind == "text" else "") + "\n".join(lines) + "\n"


def written(files: dict[str, str], what: str, said: str, text: str) -> str:
    """Add a block that writes a file, or changes one, to the files; return its name.

    Raises:
        ValueError: there is nothing to change.
    """
    name, _, before = said.partition(", before: ")
    given = files.get(name, "")
    if what == "change":
        old, new = ("\n".join(line[2:] for line in text.splitlines() if line[0] == mark) for mark in "-+")
        if given.count(old) != 1:
            raise ValueError(f"{name} has {old!r} {given.count(old)} times")
        files[name] = given.replace(old, new)
    elif before:
        head, found, tail = given.partition(f"\n{before}")
        if not found:
            raise ValueError(f"{name} has no line that begins with {before!r}")
        files[name] = f"{head}\n{text}\n{found}{tail}"
    else:
        files[name] = f"{given}\n\n{text}" if given else text
    return name


def walk(page: str) -> Iterator[tuple[re.Match[str], dict[str, str]]]:
    """Yield the blocks of a page in order, each with the files as they are after it."""
    files: dict[str, str] = {}
    for block in BLOCK.finditer(page):
        if block["what"] != "run":
            written(files, block["what"], block["said"], block["old"])
        yield block, files


def regenerated(page: str) -> str:
    """Return a page with the output of its commands."""
    out, at = "", 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        archives = UNPACK.findall(page)
        for archive in archives:
            source = Path(__file__).parents[1] / archive
            if source.name.endswith(".jsonl.xz"):
                (folder / source.stem).write_bytes(lzma.decompress(source.read_bytes()))
                continue
            with tarfile.open(source) as packed:
                packed.extractall(folder, filter="data")
        for block, files in walk(page):
            if block["what"] != "run":
                for file, text in files.items():
                    (folder / file).write_text(text, encoding="utf-8")
                continue
            start, end = block.span("old")
            inside = folder if files or archives or "<!-- files -->" in page else None
            out += page[at:start] + output_of(block["said"].strip(), block["kind"], inside)
            at = end
    return out + page[at:]


def main() -> None:
    """Regenerate the pages that the command line names, or all."""
    words = sys.argv[1:]
    only_figures = words == ["--figures"]
    pages = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md")), *sorted(RESULTS.glob("*.md"))]
    for path in pages if only_figures or not words else map(Path, words):
        text = with_figures(path.read_text(encoding="utf-8"))
        path.write_text(text if only_figures else regenerated(text), encoding="utf-8")


if __name__ == "__main__":
    main()
