"""Everything that README and docs tell people to type is typed here, and prints what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.page import PAGES, ROOT, Block, blocks
from docs.terminal import Terminal, prints

RUN = {"sh", "python"}
LANGUAGES = RUN | {"text", "yaml"}


def _runnable(block: Block) -> bool:
    return block.language in RUN and not block.skipped


_TYPED = [page for page in PAGES if any(map(_runnable, blocks(page)))]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("page", _TYPED, ids=[str(page.relative_to(ROOT)) for page in _TYPED])
@pytest.mark.long("types every command of a page, on servers of its own")
def test_what_a_page_says_happens(page: Path, terminal: Terminal) -> None:
    output: str | None = None
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.directive == "stop":
            terminal.stop_server()
        if block.skipped:
            output = None
        elif block.directive == "server":
            terminal.start_server(block.text)
            output = None
        elif block.language in RUN:
            code, output = terminal.shell(block.text) if block.language == "sh" else terminal.python(block.text)
            wanted = "fails" if block.directive == "fails" else "succeeds"
            assert (code != 0) is (block.directive == "fails"), f"{where}: not a command that {wanted}:\n{output}"
        elif block.title:
            (terminal.folder / block.title).write_text(terminal.own_addresses(block.text))
        elif block.language == "text" and block.follows and output is not None:
            assert prints(block.text, output), f"{where}: it says\n{block.text}but the command prints\n{output}"
            output = None


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_block_says_what_it_is(page: Path) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{page.name}:{block.line}: a block in {block.language or 'no language'}"
        if block.directive and block.language not in RUN:
            pytest.fail(f"{page.name}:{block.line}: a test comment before a block that is not run")


def test_the_first_page_shows_both_commands() -> None:
    typed = [block.text.strip() for block in blocks(ROOT / "README.md") if block.language == "sh"]

    assert {"make up", "make test"} <= set(typed)


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("a   b\n", "a b\n"),
        ("a ...\n", "a anything\n"),
        ("a\n...\n", "a\n"),
        ("a\n...\nd\n", "a\nb\n\nc\nd\n"),
        ("", "\n"),
    ],
)
def test_dots_stand_for_anything(expected: str, output: str) -> None:
    assert prints(expected, output)


@pytest.mark.parametrize(
    ("expected", "output"), [("a\n", "b\n"), ("a\n", "a\nb\n"), ("a ...\n", "a\nb\n"), ("", "x\n")]
)
def test_what_is_not_said_must_not_be_printed(expected: str, output: str) -> None:
    assert not prints(expected, output)


def test_a_comment_that_nobody_understands_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- test: skipp: typo -->\n```sh\ntrue\n```\n")

    with pytest.raises(ValueError, match="nobody knows"):
        blocks(page)


def test_a_skip_needs_a_reason(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- test: skip:  -->\n```sh\ntrue\n```\n")

    with pytest.raises(ValueError, match="nobody knows"):
        blocks(page)
