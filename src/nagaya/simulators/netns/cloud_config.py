"""What user data ask of a machine, read as cloud-init reads it.

Only what bootstrap data consist of is done: commands and files. What else a cloud-config may say is noted, not done:
a namespace has no users to log in, no disks and no clock of its own. What cannot be understood is an error, because a
machine that comes up half is worse than one that says why it does not.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from nagaya.simulators.netns import template
from nagaya.wire import bounded_yaml

_HEADER: Final = "#cloud-config"
_JINJA: Final = "## template: jinja"
_PLAIN: Final = ("", "none", "text/plain")
_BASE64: Final = ("b64", "base64")
_GZIP: Final = ("gz", "gzip")
_BOTH: Final = tuple(f"{one}+{other}" for one in _GZIP for other in _BASE64)
_DONE: Final = frozenset({"write_files", "bootcmd", "runcmd"})
_SHELL: Final = "#!/bin/sh\n"


class NotUnderstood(ValueError):
    """User data that are not what they should be; the message says where."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to write."""

    path: str
    content: bytes
    mode: int = 0o644
    owner: str = "root:root"
    append: bool = False


@dataclass(frozen=True, slots=True)
class CloudConfig:
    """What to do, in this order: `boot`, `files`, `late_files`, `run`."""

    boot: str = ""
    """A script, empty if there is nothing to do."""
    files: tuple[File, ...] = ()
    late_files: tuple[File, ...] = ()
    run: str = ""
    """A script, empty if there is nothing to do."""
    notes: tuple[str, ...] = ()
    """What was asked for and is not done, a sentence each."""


def read(user_data: bytes, meta_data: Mapping[str, str]) -> CloudConfig:
    """The meaning of user data: a cloud-config, with or without variables in it, or a script. Raises NotUnderstood."""
    try:
        text = (gzip.decompress(user_data) if user_data[:2] == b"\x1f\x8b" else user_data).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise NotUnderstood(f"user data are not text: {error}") from error
    notes: list[str] = []
    first, _, rest = text.partition("\n")
    if first.strip().lower() == _JINJA:
        try:
            text, notes = template.render(rest, meta_data)
        except ValueError as error:
            raise NotUnderstood(f"user data have a template that cannot be rendered: {error}") from error
        first = text.partition("\n")[0]
    if first.startswith("#!"):
        return CloudConfig(run=text, notes=tuple(notes))
    if first.strip() != _HEADER:
        raise NotUnderstood(f"user data begin with {first[:40]!r}: neither {_HEADER}, nor {_JINJA}, nor a script")
    try:
        content = bounded_yaml.load(text)
    except yaml.YAMLError as error:
        raise NotUnderstood(f"user data are not YAML: {error}") from error
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise NotUnderstood("user data are not a mapping")
    return _meaning(content, notes)


def script_of(commands: object, where: str) -> str:
    """Commands as one script. A list is one command, word by word; a string is for the shell. Raises NotUnderstood."""
    if commands is None:
        return ""
    if isinstance(commands, str):
        commands = [commands]
    if not isinstance(commands, list):
        raise NotUnderstood(f"{where} is not a list")
    lines = []
    for number, command in enumerate(commands):
        if isinstance(command, list):
            lines.append(" ".join(_quoted(word, f"{where}[{number}]") for word in command))
        elif isinstance(command, str):
            lines.append(command)
        elif command is not None:
            raise NotUnderstood(f"{where}[{number}] is neither a list nor a string")
    return _SHELL + "\n".join(lines) + "\n" if lines else ""


def _quoted(word: object, where: str) -> str:
    if not isinstance(word, str | int | float):
        raise NotUnderstood(f"{where} has a word that is neither text nor a number")
    return "'" + str(word).replace("'", "'\\''") + "'"


def _meaning(content: Mapping[str, Any], notes: list[str]) -> CloudConfig:
    early: list[File] = []
    late: list[File] = []
    listed = content.get("write_files") or []
    if not isinstance(listed, list):
        raise NotUnderstood("write_files is not a list")
    for number, each in enumerate(listed):
        if not isinstance(each, dict):
            raise NotUnderstood(f"write_files[{number}] is not a mapping")
        (late if each.get("defer") else early).append(_file(each, f"write_files[{number}]"))
    notes += [f"{name} is not done: a namespace has nothing of the kind." for name in content if name not in _DONE]
    return CloudConfig(
        boot=script_of(content.get("bootcmd"), "bootcmd"),
        files=tuple(early),
        late_files=tuple(late),
        run=script_of(content.get("runcmd"), "runcmd"),
        notes=tuple(notes),
    )


def _file(entry: Mapping[str, Any], where: str) -> File:
    path = entry.get("path")
    if not isinstance(path, str) or not path.startswith("/"):
        raise NotUnderstood(f"{where}.path is not an absolute path")
    if "source" in entry:
        raise NotUnderstood(f"{where}.source is a place outside, which machines cannot reach")
    owner = entry.get("owner") or "root:root"
    if not isinstance(owner, str):
        raise NotUnderstood(f"{where}.owner is not text")
    return File(path, _content(entry, where), _mode(entry, where), owner, bool(entry.get("append", False)))


def _content(entry: Mapping[str, Any], where: str) -> bytes:
    raw = entry.get("content", "")
    content = raw if isinstance(raw, bytes) else str("" if raw is None else raw).encode()
    encoding = str(entry.get("encoding") or "").strip().lower()
    try:
        if encoding in _BASE64 or encoding in _BOTH:
            content = base64.b64decode(content)
        if encoding in _GZIP or encoding in _BOTH:
            content = gzip.decompress(content)
    except (binascii.Error, OSError, EOFError, zlib.error) as error:
        raise NotUnderstood(f"{where}.content is not what its encoding {encoding} says: {error}") from error
    if encoding not in (*_PLAIN, *_BASE64, *_GZIP, *_BOTH):
        raise NotUnderstood(f"{where}.encoding {encoding!r} is not known")
    return content


def _mode(entry: Mapping[str, Any], where: str) -> int:
    given = entry.get("permissions")
    if given is None or given == "":
        return 0o644
    # YAML has made a number of an octal literal already; text is octal, whatever it looks like.
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    try:
        return int(str(given), 8)
    except ValueError:
        raise NotUnderstood(f"{where}.permissions {given!r} is not an octal number") from None
