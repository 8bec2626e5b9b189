"""Text of others on terminals and in logs: whatever it holds, it cannot do more than be read."""

from __future__ import annotations

import ast
import io
import json
import logging
import subprocess
import sys
import unicodedata
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from rich.text import Text

import nagaya
from nagaya.cli.logs import JsonLines, TextLines
from nagaya.cli.menu import Menu
from nagaya.cli.output.document import printed, streamed
from nagaya.cli.output.screen import Screen, note
from nagaya.cli.output.table import Cell, Table
from nagaya.foreign_text import EscapedStream, cut, escape, escape_line, escape_lines, safe_console

HOSTILE = (
    "a\x1b[2Jb\x1b]52;c;aGk=\x07c\x1b]8;;http://x\x1b\\d\x9b31me\x7ff\u202eg\u2066h\u200bi\u2028j\x85k\rl\x08m\ud800"
    "\U000e0041n\ufeffo[red]p[/red][link=http://y]q" + "e" + "\u0301" * 500
)

FORGED = "\nDONE: everything is well"


def unsafe(text: str) -> set[str]:
    """Characters that no terminal should get from others."""
    return {
        char
        for char in text
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }  # fmt: skip


def test_every_control_and_format_character_is_escaped() -> None:
    every = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert not unsafe(escape("".join(every)))
    assert escape("\n\t") == "\n\t"
    assert all(json.loads(f'"{escape(each)}"') == each for each in every if each not in "\n\t"), "JSON stays JSON"


def test_ordinary_text_of_any_script_stays_as_it_is() -> None:
    text = "Grüße, Straße, naïve, हिन्दी, עִבְרִית, ไทย, 日本語, ├─ └─ … 🚢 $HOME `x` \\u001b"
    assert escape(text) == text


def test_accents_do_not_pile_up() -> None:
    shown = escape("z" + "\u0336" * 100)
    assert shown == "z" + "\u0336" * 6 + "\\u0336" * 94


def test_long_texts_are_cut_with_a_note() -> None:
    assert cut("x" * 9000, 100) == "x" * 100 + "... (9000 characters in all)"
    assert escape_line("a\nb\r") == "a\\nb\\r"
    assert escape_lines("a\nb\n  c") == "a\n  b\n  c"


def hostile_table() -> Table:
    table = Table(("NAME", "MESSAGE"))
    table.add(HOSTILE, Cell(HOSTILE, "red"))
    table.add("x\ny", "first\nsecond")
    table.add("x" * 100_000, "y" * 100_000)
    return table


def stripped_of_styles(text: str) -> str:
    """A terminal's text without the sequences that set colours, which are Nagaya's own."""
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_pipe_gets_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(terminal=False)
    screen.line(f"{HOSTILE}\n2026-01-01 00:00:00  forged: line", "red")
    screen.table(hostile_table())
    note(f"{HOSTILE}\nError: forged")
    said = capsys.readouterr()
    assert not unsafe(said.out)
    assert not unsafe(said.err)
    assert "\n2026" not in said.out, "one line stays one"
    assert "\nError" not in said.err
    assert "[red]p[/red]" in said.out
    assert len(said.out) < 100_000


def test_a_terminal_gets_no_sequences_but_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen(terminal=True)
    screen.line(f"{HOSTILE}\nforged", "bold red")
    screen.table(hostile_table())
    screen.show(Text(HOSTILE, style="yellow"))
    with screen.live(Text(HOSTILE)) as live:
        live.update(Text(HOSTILE), refresh=True)
        note(HOSTILE)
    shown = out.getvalue()
    assert "\x1b[" in shown, "colours are on"
    # Live moves the cursor by sequences of its own; nothing of the text may be among them.
    assert not {"\x07", "\x9b", "\x7f", "\u202e", "\u2066", "\u200b", "\ud800"} & set(shown)
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert "[red]p[/red]" in shown.replace("\n", "")


def test_documents_for_programs_hold_no_control_characters() -> None:
    for output in ("json", "yaml"):
        for text in (printed({"a": HOSTILE}, output), streamed({"a": HOSTILE}, output)):
            assert not unsafe(text), output
    assert json.loads(printed({"a": HOSTILE}, "json")) == {"a": HOSTILE}
    assert yaml.safe_load(printed({"a": "x\x1b\x9b\u202e\x7f"}, "yaml")) == {"a": "x\x1b\x9b\u202e\x7f"}


@click.command()
@click.argument("way")
def talk(way: str) -> None:
    """Prints in every way that code may think of."""
    if way == "exception":
        raise ValueError(HOSTILE)
    if way == "click":
        raise click.ClickException(f"{HOSTILE}{FORGED}")
    if way == "usage":
        raise click.BadParameter(f"{HOSTILE}{FORGED}")
    if way == "prompt":
        click.prompt(HOSTILE, default=HOSTILE, err=True)
    click.echo(HOSTILE)
    click.echo(HOSTILE, err=True)
    print(HOSTILE)
    sys.stderr.writelines([HOSTILE, "\n"])
    # Not through a logger: pytest would keep the record, and its report of the test cannot hold half a character.
    assert logging.lastResort is not None
    logging.lastResort.handle(record(HOSTILE))
    safe_console(sys.stdout).print(HOSTILE)


menu = Menu({"talk": ("test_foreign_text:talk", "Talk.")}, name="nagaya")


@pytest.mark.parametrize("way", ["plain", "prompt", "click", "usage"])
def test_whatever_a_command_prints_is_escaped(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Menu, "get_command", lambda *_: talk)
    result = CliRunner().invoke(menu, ["talk", way], input="x\n")
    assert result.output
    assert not unsafe(result.output), result.output
    assert FORGED not in result.output


def test_the_interpreter_prints_unexpected_errors_escaped(tmp_path: Path) -> None:
    program = tmp_path / "fails.py"
    program.write_text(
        "from nagaya.cli.menu import Menu\n"
        "import click\n"
        "@click.command()\n"
        "def talk():\n"
        f"    raise ValueError({HOSTILE + FORGED!a})\n"
        "Menu.get_command = lambda *_: talk\n"
        "Menu({}, name='x')(['talk'])\n"
    )
    for environment in ({"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}):
        done = subprocess.run(
            [sys.executable, str(program)], capture_output=True, timeout=60, env=environment, check=False
        )
        assert done.returncode == 1
        assert b"ValueError" in done.stderr
        assert not unsafe(done.stderr.decode())
        assert FORGED.encode() not in done.stderr


def test_a_stream_that_escapes_is_otherwise_the_one_that_it_wraps() -> None:
    raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    stream = EscapedStream(raw)
    assert stream.write("ü\x1b") == 2
    stream.flush()
    assert raw.buffer.getvalue() == "ü\\u001b".encode()  # type: ignore[attr-defined]


def record(message: str, error: BaseException | None = None) -> logging.LogRecord:
    exc = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("nagaya.x", logging.WARNING, __file__, 1, message, (), exc)


def raised() -> ValueError:
    try:
        raise ValueError(f"{HOSTILE}\n2026-01-01 00:00:00,000 INFO nagaya.x: forged")
    except ValueError as error:
        return error


def test_log_lines_cannot_be_forged() -> None:
    forged = f"{HOSTILE}\n2026-01-01 00:00:00,000 INFO nagaya.x: forged"
    for each in (record(forged), record("x", raised()), record("y" * 1_000_000)):
        text = TextLines().format(each)
        first, *more = text.split("\n")
        assert first.count("WARNING nagaya.x") == 1
        assert all(line.startswith("  ") for line in more)
        assert not unsafe(text)
        assert len(text) < 100_000
        line = JsonLines().format(each)
        assert not unsafe(line)
        assert "\n" not in line
        assert "\t" not in line
        assert json.loads(line)["level"] == "warning"
        assert len(line) < 500_000


def test_logging_survives_half_characters_and_cached_traces() -> None:
    each = record("\ud800", raised())
    logging.Formatter().format(each)  # another handler has formatted the trace, and kept it
    assert not unsafe(TextLines().format(each))
    assert not unsafe(JsonLines().format(each))


ALLOWED = {
    ("foreign_text.py", "Console"),  # the one place where a console is made
    ("supervision/launch.py", "print"),  # runs in place of a supervised program, whose log has its words
    ("controlplane/hosted/host/balancer/program.py", "print"),  # a supervised program
    ("cli/backup.py", "sys.stdout.buffer"),  # the backup itself
}


def test_nothing_prints_around_the_escaping_streams() -> None:
    """`print` and `click.echo` are escaped by the streams of the command line; consoles and raw streams are not."""
    root = Path(nagaya.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        name = path.relative_to(root).as_posix()
        if name.startswith("simulators/"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("Console", "rich.print", "rich.get_console"):
                    found.add((name, called))
                if called == "print" and not name.startswith("cli/"):
                    found.add((name, called))
                if called == "os.write" and ast.unparse(node.args[0]) in ("1", "2"):
                    found.add((name, called))
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Console" for base in node.bases):
                found.add((name, "Console"))
            if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "sys.__stdout__", "sys.__stderr__", "sys.stdout.buffer", "sys.stderr.buffer"
            ):  # fmt: skip
                found.add((name, ast.unparse(node)))
    assert found == ALLOWED
