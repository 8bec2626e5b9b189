"""Text of others on its way to a terminal or a log.

Names, messages, task logs and answers come from tenants, Proxmox VE and servers of all kinds. Printed as they are, they
could move the cursor, set the clipboard, hide or reverse what follows, or pretend to be lines of Nagaya. Here they lose
that power: each such character becomes its escape in JSON (`\\u001b`), so that JSON stays JSON.

All that a command prints goes through `EscapedStream`, which the command line puts in place of standard output and
standard error, or through `safe_console`, whose own styles are the only control sequences that reach a terminal.
"""

from __future__ import annotations

import io
import json
import re
import sys
import traceback
import unicodedata
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from rich.console import Console

LONGEST: Final = 8000
"""Characters of one text of others that are shown; the rest is counted."""
_MARKS: Final = 6
"""Accents above one another: no script needs more."""
# Controls but tab and line feed; formats (bidirectional, invisible, tags); fillers; line separators; half characters.
_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def escape(text: str) -> str:
    """Text that a terminal shows as it is. Tabs and line feeds stay."""
    if not text.isascii():
        text = _bounded_marks(text)
    return _UNSAFE.sub(lambda found: _escaped(found[0]), text)


def _escaped(char: str) -> str:
    return "\\u007f" if char == "\x7f" else json.dumps(char)[1:-1]


def escape_line(text: str, longest: int = LONGEST) -> str:
    """The same in one line, cut if it is too long."""
    shown = escape(text[:longest]).replace("\n", "\\n")
    return shown if len(text) <= longest >= len(shown) else f"{shown[:longest]}... ({len(text)} characters in all)"


def escape_lines(text: str) -> str:
    """The same in several lines. All but the first are indented, so that none looks like the beginning of another
    message."""
    return re.sub(r"\n(?!  )", "\n  ", escape(text))


def cut(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text, with a note on how long it is."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters in all)"


def _bounded_marks(text: str) -> str:
    kept, run = [], 0
    for char in text:
        run = run + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        kept.append(char if run <= _MARKS else _escaped(char))
    return "".join(kept)


class EscapedStream:
    """A text stream that escapes whatever is written to it; otherwise the one that it wraps."""

    def __init__(self, unescaped: IO[str]) -> None:
        if isinstance(unescaped, io.TextIOWrapper) and unescaped.encoding.lower() in ("ascii", "us-ascii"):
            unescaped.reconfigure(encoding="utf-8")  # click would write around this stream otherwise
        self.unescaped = unescaped

    def write(self, text: str) -> int:
        """Write text, escaped. Returns how much of it was taken, which is all."""
        self.unescaped.write(escape(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, escaped."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


def escape_output() -> None:
    """From now on, escape whatever this process prints."""
    sys.excepthook = _print_error
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, EscapedStream):
            setattr(sys, name, EscapedStream(stream))


def _print_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error that nobody expected, as the interpreter would."""
    sys.stderr.write(escape_lines("".join(traceback.format_exception(kind, error, trace)).rstrip()) + "\n")


def safe_console(stream: IO[str]) -> Console:
    """A console of rich's for a stream. Text is never markup, and never a control sequence."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(escape(segment.text), segment.style)

    # NO_COLOR and COLUMNS are heeded by rich itself.
    raw = stream.unescaped if isinstance(stream, EscapedStream) else stream
    return SafeConsole(file=raw, highlight=False, markup=False, emoji=False)
