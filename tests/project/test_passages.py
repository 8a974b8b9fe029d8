"""What `benchmarks/passages.py` takes for a passage, where it is, and how it chooses for a reader."""

from __future__ import annotations

import ast

from benchmarks.passages import Passage, choose, docstrings_of, paragraphs_of

PAGE = """# A heading that has more words than eight, which is no passage

```text
The same words begin a fence, and then a paragraph of the page.
```
<!-- a comment
of two lines -->

The same words begin a fence, and then a paragraph of the page,
which goes over two lines.

- [a link](page.md)
- An item of a list that has as many words as it needs.

| a row | of a table that has as many words as it needs, and more |
"""
SOURCE = """
class Public:
    '''Hold a thing.'''
    def method(self):
        '''Return it.'''
    def _hidden(self):
        '''Not this.'''
class _Private:
    def method(self):
        '''Nor this.'''
def function(): ...
"""


def test_a_passage_of_a_page_is_a_paragraph_outside_fences() -> None:
    found = [(each.place, each.text.split()[-1]) for each in paragraphs_of("page.md", PAGE)]
    assert found == [("page.md:9", "lines."), ("page.md:13", "needs.")]


def test_docstrings_of_public_names_are_passages() -> None:
    found = [(each.place, each.text) for each in docstrings_of("m.py", ast.parse(SOURCE))]
    assert found == [("m.py:2 Public", "Hold a thing."), ("m.py:4 Public.method", "Return it.")]


def test_a_seed_chooses_kinds_with_equal_chance_and_no_passage_twice() -> None:
    pools = {kind: [Passage(kind, str(n), "") for n in range(size)] for kind, size in (("few", 100), ("many", 900))}
    chosen = choose(pools, seed=1, count=100)
    assert chosen == choose(pools, seed=1, count=100) != choose(pools, seed=2, count=100)
    assert len(set(chosen)) == 100
    assert 35 < sum(each.kind == "few" for each in chosen) < 65
