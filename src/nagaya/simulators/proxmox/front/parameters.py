"""Parameters out of a query and a body: forms, JSON, and files that are sent as a form of several parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson

from nagaya.simulators.proxmox.failure import Unanswered
from nagaya.simulators.proxmox.front.broken_json import complaint

LONGEST_BODY = 512 * 1024
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
FILES = "multipart/form-data"

_PAIRS = re.compile(r"[&;]")
_ATTRIBUTES = re.compile(r"\s*[;,]\s*")
_READ_AHEAD = 64 * 1024
_SERVER = "/usr/share/perl5/PVE/APIServer/AnyEvent.pm"


class Unreadable(Exception):
    """A body of which nothing can be made. PVE answers with the text alone."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent, and the fields beside it."""

    content: bytes
    fields: dict[str, Any] = field(default_factory=dict)


def content_type(header: str | None) -> tuple[str | None, str | None]:
    """The type of a body, and what separates its parts."""
    if not header:
        return None, None
    kind, *attributes = _ATTRIBUTES.split(header)
    for attribute in attributes:
        if found := re.fullmatch(r"\s*boundary\s*=\s*(\S+?)\s*", attribute):
            return kind, found[1]
    return kind, None


def of_form(text: str) -> dict[str, Any]:
    """Names and values; a name that occurs several times has a list."""
    parameters: dict[str, Any] = {}
    for pair in _PAIRS.split(text):
        if not pair:
            continue
        name, given, value = pair.partition("=")
        key = _decoded(name)
        if not given:
            parameters[key] = None
        elif isinstance(before := parameters.get(key), list):
            before.append(_decoded(value))
        elif before is not None:
            parameters[key] = [before, _decoded(value)]
        else:
            parameters[key] = _decoded(value)
    return parameters


def of_request(method: str, query: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """All parameters of a request; those of the query win."""
    parameters: dict[str, Any] = {}
    if method in ("PUT", "POST"):
        kind, _ = content_type(headers.get("content-type"))
        parameters = _of_json(body) if kind == JSON else of_form(body.decode("latin-1"))
    parameters.update(of_form(query))
    parameters.pop("_dc", None)
    return parameters


def of_upload(query: str, headers: Mapping[str, str], body: bytes) -> Upload:
    """A file sent in a form of several parts, read as narrowly as PVE does.

    Of the fields only three count, in this order, before the file; the part with the file begins with its disposition;
    whatever follows it is taken for a part of the file.
    """
    kind, boundary = content_type(headers.get("content-type"))
    if kind != FILES or not boundary:
        raise Unanswered
    mark = re.escape(b"--" + boundary.encode("latin-1"))
    delimiter, newline = mark + rb"\r?\n", rb"\r?\n"
    fields = of_form(query)
    start = re.search(delimiter, body)
    rest = body[start.start() :] if start is not None else b""
    for name in (b"content", b"checksum-algorithm", b"checksum"):
        wanted = delimiter + rb'.*?Content-Disposition: (.*?); name="' + name + rb'"(.*?' + delimiter + rb")"
        if found := re.match(wanted, rest[:_READ_AHEAD], re.DOTALL):
            _check_disposition(found[1])
            part = re.sub(rb"^.*?(?:\r?\n){2}", b"", rest[found.start(2) :], count=1, flags=re.DOTALL)
            end = re.search(delimiter, part)
            assert end is not None, "the field was found by the delimiter behind it"
            fields[name.decode()] = part[: end.start()].decode("utf-8", "replace").strip()
            rest = part[end.start() :]
    named = rb'Content-Disposition: (.*?); name="(.*?)"; filename="([^"]+)"' + newline
    file = re.match(delimiter + named, rest[:_READ_AHEAD], re.DOTALL)
    if file is None:
        raise Unreadable(500, f"upload failed at {_SERVER} line 1367.\n")
    _check_disposition(file[1])
    if file[2] != b"filename":
        expected = f"wrong field name '{file[2].decode('utf-8', 'replace')}' for file upload, expected 'filename'"
        raise Unreadable(500, f"{expected} at {_SERVER} line 1325.\n")
    fields["filename"] = file[3].decode("utf-8", "replace").strip()
    head = re.compile(rb"(?:.*?\r?\n)??\r?\n", re.DOTALL).match(rest, file.end())
    begin = head.end() if head is not None else file.end()
    finish = re.compile(rb"(?:\r?\n)?" + mark + rb"--").search(rest, begin)
    if finish is None:
        raise Unreadable(500, f"upload failed at {_SERVER} line 1367.\n")
    return Upload(rest[begin : finish.start()], fields)


def _check_disposition(found: bytes) -> None:
    if found != b"form-data":
        given = found.decode("utf-8", "replace")
        raise Unreadable(500, f"wrong Content-Disposition '{given}' in multipart, expected 'form-data'\n")


def _decoded(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ").encode("latin-1")).decode("utf-8", "replace")


def _of_json(body: bytes) -> dict[str, Any]:
    try:
        parameters = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Unreadable(500, f"{complaint(body)} at {_SERVER} line 934.\n") from None
    if parameters is None:
        return {}
    if isinstance(parameters, list | bool):
        raise Unreadable(500, f"Not a HASH reference at {_SERVER} line 978.\n")
    if not isinstance(parameters, dict):
        text = f'Can\'t use string ("{parameters}") as a HASH ref while "strict refs" in use'
        raise Unreadable(500, f"{text} at {_SERVER} line 978.\n")
    return parameters
