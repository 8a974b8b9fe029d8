"""The map of the pages: nothing is lost on the way from the old pages to the new ones."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tests.project.page_map import (
    DOCS,
    KINDS,
    TOP,
    Place,
    anchors,
    page_map,
    place,
    recorded,
    text_of,
    words,
)  # fmt: skip


def places() -> list[tuple[str, str, Place]]:
    """For each recorded heading: its old page, itself, its place."""
    moved = page_map()[1]
    return [(page, h, place(moved[page].get(h, moved[page].get("*", "")))) for page, h in recorded()]


def missing(old: Path, where: Place) -> str:
    """Say what is missing at a place; nothing: the heading has arrived."""
    pages = page_map()[0]
    if where.how == "stays":
        return "" if old.exists() else "the page that stays is gone"
    if where.how in ("decisions", "results"):
        folder = DOCS / "decisions" if where.how == "decisions" else TOP / "benchmarks/results"
        return "" if where.page and (folder / where.page).exists() else f"no such file: {where}"
    if where.how == "contributing":
        return "" if where.anchor in anchors(TOP / where.page) else f"{where.page} has no #{where.anchor}"
    page = pages[where.page]
    if not page.done:
        return f"{page.path} is not done"
    if where.anchor and where.anchor not in anchors(page.file):
        return f"{page.path} has no #{where.anchor}"
    if not where.anchor and old.exists():  # the page may be done without it: whoever removes the old page looks
        return f"no place in {page.path} is named"
    return ""


def test_every_heading_has_a_place() -> None:
    assert len(places()) == 700, "the record of the headings is complete"
    moved = page_map()[1]
    kept: dict[str, set[str]] = defaultdict(set)
    for page, heading in recorded():
        kept[page].add(heading)
    assert {page: set(m) - {"*"} for page, m in moved.items() if "*" not in m} == {
        page: h for page, h in kept.items() if "*" not in moved[page]
    }
    assert [page for page, m in moved.items() if "*" in m] == ["docs/gallery.md"], "only what a command writes"


def test_the_plan_keeps_its_budget() -> None:
    pages = page_map()[0].values()
    assert {page.kind for page in pages} <= set(KINDS)
    assert sum(page.words for page in pages) <= 45_000
    assert all(
        page.path.startswith(f"{page.kind}s/".replace("how-tos", "how-to")) for page in pages if page.kind in KINDS[1:3]
    )


def test_pages_that_are_done_exist_and_keep_their_budget() -> None:
    built = (DOCS / "build_site.py").read_text()
    for page in page_map()[0].values():
        if page.done:
            assert page.file.exists() or f'"{page.path}": ' in built, page.path
            if page.kind != "generated":
                assert words(text_of(page.file)) <= page.words, (page.path, words(text_of(page.file)))


def test_only_rows_and_commands_of_the_gallery_are_not_counted() -> None:
    table = "<!-- gallery: breaks -->\n| a | b |\n|---|---|\n- `zabcheck --nodes 2`\n{}<!-- end -->\n"
    assert words(table.format("")) == 0
    assert words(table.format("- `zabcheck` runs\nfour words of prose\n")) == 6, "prose counts wherever it is"
    assert words("| a | b |\n" + table.format("") + "three more words") == 5, "so does a table without a mark"


def test_an_old_page_goes_when_all_it_says_has_arrived() -> None:
    """And not before: a page that is gone has every heading in a place that exists."""
    open_: dict[str, list[str]] = defaultdict(list)
    targets = {page.file for page in page_map()[0].values()}
    for page, heading, where in places():
        if why := missing(TOP / page, where):
            open_[page].append(f"{heading}: {why}")
    for page, moved in page_map()[1].items():
        gone = not (TOP / page).exists()
        assert not (gone and open_[page]), (page, open_[page])
        stays = "stays" in moved.values() or TOP / page in targets
        assert gone or stays or open_[page], f"{page}: all of it has a new place; remove it"


def test_anchors_of_the_map_are_there_once_their_page_is_done() -> None:
    pages = page_map()[0]
    for page, heading, where in places():
        if where.anchor and where.how != "contributing" and pages[where.page].done:
            assert where.anchor in anchors(pages[where.page].file), (page, heading)
