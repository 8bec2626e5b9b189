"""What a page says a command prints, and what it may print instead."""

from __future__ import annotations

import pytest

from docs.terminal import prints

NODES = """\
NAME           STATUS  AGE
first-...      Ready   ...
first-more-... Ready   ...
"""


@pytest.mark.parametrize(
    "output",
    [
        "NAME STATUS AGE\nfirst-abc Ready 1s\nfirst-more-abc Ready 2s\n",
        "NAME STATUS AGE\n\nfirst-more-abc    Ready 2s\nfirst-xyz Ready 1s\n",
    ],
)
def test_names_that_end_at_random_come_in_any_order(output: str) -> None:
    assert prints(NODES, output)


@pytest.mark.parametrize(
    "output",
    [
        "NAME STATUS AGE\nfirst-abc Ready 1s\n",
        "NAME STATUS AGE\nfirst-abc Ready 1s\nfirst-more-abc NotReady 2s\n",
        "first-abc Ready 1s\nNAME STATUS AGE\nfirst-more-abc Ready 2s\n",
    ],
)
def test_all_else_is_as_the_page_says(output: str) -> None:
    assert not prints(NODES, output)


def test_three_dots_alone_are_any_number_of_lines() -> None:
    assert prints("a\n...\nb\n", "a\nb\n")
    assert prints("a\n...\nb\n", "a\nx\ny\nb\n")
    assert not prints("a\n...\nb\n", "a\nx\n")
