"""How a result is written: the part of the path behind /api2 chooses.

`json` is for programs: what went wrong shows in the status line. `extjs` and `htmljs` are for PVE's own page, whose
library wants 200 for everything. The others write what fits them and leave out the rest.
"""

from __future__ import annotations

import html
import html.entities
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from nagaya.simulators.proxmox.calls.call import File, Total
from nagaya.simulators.proxmox.request import Answer

_JSON = "application/json;charset=UTF-8"
_UNSAFE = re.compile(r"[^\n\r\t !#$%(-;=?-~]")
"""What stands in a page as an entity: all that means something there, and all beyond plain ASCII."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a call."""

    status: int = 200
    message: str | None = None
    """What went wrong."""
    data: Any = None
    errors: Mapping[str, str] | None = None
    status_is_text: bool = False
    """PVE turns a failure that has a number of its own into words before it reads the number, which is text then."""

    @property
    def reason(self) -> str:
        """What stands in the status line."""
        return (self.message or "OK").partition("\n")[0]

    def told(self) -> dict[str, Any]:
        """What a client is told in the body."""
        told: dict[str, Any] = {"data": self.data}
        if self.errors:
            told["errors"] = self.errors
        if self.message is not None:
            told["message"] = self.message
        elif isinstance(self.data, Total) and self.data.total:
            told["total"] = self.data.total
        return told


Formatter = Callable[[Result], Answer]


def _json(result: Result) -> Answer:
    return Answer(result.status, result.reason, _JSON, dumped(result.told()))


def _extjs(result: Result) -> Answer:
    return Answer(200, "OK", _JSON, dumped(_successful(result)))


def _htmljs(result: Result) -> Answer:
    escaped = _UNSAFE.sub(lambda found: _entity(found[0]), dumped(_successful(result)).decode())
    return Answer(200, "OK", "text/html;charset=UTF-8", escaped.encode())


def _entity(character: str) -> str:
    if character == "'":
        return "&#39;"
    name = html.entities.codepoint2name.get(ord(character))
    return f"&{name};" if name is not None else f"&#x{ord(character):X};"


def _successful(result: Result) -> dict[str, Any]:
    told = result.told()
    told["success"] = int(result.message is None)
    if result.message is not None:
        told["status"] = str(result.status) if result.status_is_text else result.status
    return told


def _html(result: Result) -> Answer:
    shown = result.message if result.message is not None else dumped(result.data, indent=True).decode()
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Proxmox VE API</title></head>\n'
        f"<body><pre>{html.escape(shown)}</pre></body>\n</html>\n"
    )
    return Answer(result.status, result.reason, "text/html;charset=UTF-8", page.encode())


def _png(result: Result) -> Answer:
    return Answer(result.status, result.reason, "image/png")


def _spiceconfig(result: Result) -> Answer:
    lines: list[str] = []
    if isinstance(result.data, dict):
        lines = ["[virt-viewer]", *(f"{name}={value}" for name, value in result.data.items() if value is not None)]
    body = "".join(f"{line}\n" for line in lines).encode()
    return Answer(result.status, result.reason, "application/x-virt-viewer;charset=UTF-8", body)


FORMATTERS: Mapping[str, Formatter] = {
    "json": _json,
    "extjs": _extjs,
    "htmljs": _htmljs,
    "html": _html,
    "png": _png,
    "spiceconfig": _spiceconfig,
}


def sent(file: File) -> Answer:
    """A file, which no formatter touches."""
    kept = {"content-disposition": f'attachment; filename="{file.name}"'}
    if file.compressed:
        kept["content-encoding"] = "gzip"
    return Answer(200, "OK", file.content_type, file.content, kept)


def dumped(value: object, *, indent: bool = False) -> bytes:
    """JSON. What PVE calls a boolean is 0 or 1 there, nearly always; true and false come from others, as agents."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)
