"""A page of the documentation, as the tests read it: its blocks of code, and what is to be done with each.

Every `sh` and `python` block is run, from top to bottom, and a `text` block after one is what it prints: `...` stands
for anything, alone on a line for any number of lines. A `yaml` block with a title is a file of that name. A comment
before a block says when it is something else:

    <!-- test: server -->        it starts a server, which is left running; the port is a free one
    <!-- test: stop -->          the servers are stopped before it
    <!-- test: fails -->         the command is meant to fail
    <!-- test: skip: reason -->  it cannot be run in a test, for this reason
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"<!-- test: (?P<what>.*?) -->\n\s*\Z", re.DOTALL)
_ANY_DIRECTIVE = re.compile(r"<!-- test:")
_TITLE = re.compile(r'title="(?P<name>[^"]+)"')
_WORDS = {"server", "stop", "fails"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    line: int
    directive: str = ""
    title: str = ""
    follows: bool = False  # nothing but space stands between it and the block before

    @property
    def skipped(self) -> bool:
        """Whether it cannot be run, which needs a reason."""
        return self.directive.startswith("skip: ") and len(self.directive) > len("skip: ")


def blocks(path: Path) -> list[Block]:
    """The blocks of a page. Raises ValueError for a comment that means nothing."""
    page = path.read_text()
    found: list[Block] = []
    end = directives = 0
    for match in _FENCE.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        between = page[end : match.start()]
        directive = _DIRECTIVE.search(between)
        said = directive["what"] if directive else ""
        directives += bool(directive)
        language = match["info"].split(" ")[0]
        title = _TITLE.search(match["info"])
        text = textwrap.dedent(match["text"])
        block = Block(language, text, line, said, title["name"] if title else "", not between.strip())
        if said and said not in _WORDS and not block.skipped:
            raise ValueError(f"{path.name}:{line}: nobody knows what 'test: {said}' means")
        found.append(block)
        end = match.end()
    if directives != len(_ANY_DIRECTIVE.findall(page)):
        raise ValueError(f"{path.name}: a test comment does not stand before a block")
    return found


def section(page: str, heading: str) -> str:
    """What a page says under a heading, up to the next one of the same or a higher level."""
    level = len(heading) - len(heading.lstrip("#"))
    begin = re.search(rf"^{re.escape(heading)}$", page, re.MULTILINE)
    if begin is None:
        return ""
    rest = page[begin.end() :]
    end = re.search(rf"^#{{1,{level}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest
