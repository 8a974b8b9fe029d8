"""The frame of every page, what a browser allows it, and what a page of a violation begins with."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode

import zabcheck
from checker.report.page import page_of
from checker.report.result import Words
from traces.pages.shell import environment, short

HOSTILE = "</script></style><script>alert(1)</script>\x00&"
COMMITTED = ("agreement", "delivered-is-chosen", "durability")
PAGE = (
    '{% extends "shell.html.j2" %}{% set title = said %}{% set parts = [("a", said)] %}{% set scripts = ["walk.js"] %}'
    "{% block main %}<p>{{ said }}</p>{% endblock %}"
)


def drawn(said: str) -> str:
    """A page made of the shell and one sentence."""
    return environment("traces.pictures").from_string(PAGE).render(said=said)


def test_what_a_page_says_is_no_markup() -> None:
    page = drawn(HOSTILE)
    assert page.count("<script>") == page.count("</script>") == 2
    assert "alert(1)<" not in page
    assert "\x00" not in page
    assert "&lt;/script&gt;" in page.partition("<body>")[2]


def test_the_scripts_of_a_page_are_those_that_it_allows() -> None:
    page = drawn("x")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert re.findall(r"sha256-([^&]*)&#39;", policy[1]) == digests
    assert policy[1].startswith("default-src &#39;none&#39;;")
    assert "connect-src" not in policy[1]
    assert "page.arrive" in scripts[1]


def test_a_title_is_short() -> None:
    assert short("VIOLATED: agreement; 12 states") == "VIOLATED: agreement"
    assert short("Two  leaders\nof one epoch.") == "Two leaders of one epoch"
    long = short("word " * 40)
    assert len(long) <= 60
    assert long.endswith("word…")
    assert len(short("x" * 200)) <= 60
    assert short("x" * 200).startswith("xxx")


def test_a_page_of_a_violation_begins_with_its_run() -> None:
    """In a dozen words, then the run, once for all that it violates, then the verdicts, violated ones first."""
    found = zabcheck.explore(
        variant="commit-on-propose", nodes=2, txns=1, timeouts=0, crashes=0, losses=0, properties=COMMITTED
    )
    assert [p["verdict"] for p in found.as_json()["properties"]] == ["no verdict", "violated", "violated"]
    page = page_of(found.as_json())
    title = page.partition('<h1 class="bad">')[2].partition("</h1>")[0]
    assert title == "p0 delivered t1 &lt;1,1&gt;, but no quorum had accepted it: only {p0} had"
    assert page.index('<section class="run"') < page.index('id="verdicts"')
    assert page.count('<section class="run"') == 1 == page.count("<dt>durability</dt>")
    assert page.count('<a class="bad" href="#run1-run">violated at depth') == 2
    assert re.findall('<th scope="row">([a-z-]+)</th>', page)[:3] == ["delivered-is-chosen", "durability", "agreement"]


def test_a_headline_is_green_only_where_all_was_put_to_the_test() -> None:
    for properties, colour, kind in ((("integrity",), "green", "good"), (("integrity", "agreement"), "yellow", "warn")):
        found = zabcheck.explore(nodes=2, txns=1, timeouts=0, crashes=0, losses=0, properties=properties)
        headline = found.parts()[0]
        assert isinstance(headline, Words)
        assert headline.colour == colour
        assert f'<h1 class="{kind}">holds: ' in page_of(found.as_json())
