"""The frame of every page: what it is called, what a browser allows it, and that data stays data."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode

from traces.pages.shell import environment, short

HOSTILE = "</script></style><script>alert(1)</script>\x00&"
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
