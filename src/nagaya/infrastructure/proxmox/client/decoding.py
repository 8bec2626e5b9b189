"""What an answer's bytes mean: its `data`, or the error that it is.

PVE answers in three ways: JSON with `data`, JSON with a `message`, or a status line and nothing else. Anything else is
Malformed, and says so with its first bytes; "unexpected end of JSON" helps nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from nagaya.foreign_answers import read_json
from nagaya.infrastructure.proxmox.client import errors
from nagaya.infrastructure.proxmox.client.answer_types import malformed, shown, typed
from nagaya.infrastructure.proxmox.client.classification import classified
from nagaya.infrastructure.proxmox.client.errors import Evidence
from nagaya.infrastructure.proxmox.client.transport import Answer

_SHOWN: Final = 120
_LONGEST: Final = 2000
"""Characters of a message."""
_MOST: Final = 20
"""Parameters that are told to be wrong."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A good answer. `total` is there for lists of which a part was asked."""

    data: Any
    total: int | None
    asked: Evidence

    def rows(self) -> list[dict[str, Any]]:
        """The data, which must be a list of records. Raises Malformed."""
        if not isinstance(self.data, list) or not all(isinstance(row, dict) for row in self.data):
            raise self.wrong("a list")
        return self.data

    def record(self) -> dict[str, Any]:
        """The data, which must be a record. Raises Malformed."""
        if not isinstance(self.data, dict):
            raise self.wrong("a record")
        return self.data

    def wrong(self, wanted: str) -> errors.Malformed:
        """The error of data that is something else."""
        return malformed(self.asked, f"data: {shown(self.data)} is not {wanted}")


def decoded(answer: Answer, asked: Evidence) -> Decoded:
    """Raises the error that the answer is. `asked` has the call's method, path and host."""
    said = _object(answer.body)
    if answer.status < 300 and said is not None and "data" in said:
        total = said.get("total")
        return Decoded(typed(said["data"], asked), total if isinstance(total, int) else None, asked)
    evidence = replace(asked, status=answer.status, reason=answer.reason)
    if answer.status >= 400:
        raise classified(_told(evidence, said, answer.body))
    raise errors.Malformed(replace(evidence, message=f"{answer.status} {answer.reason}: {_shown(answer.body)}"))


def _told(evidence: Evidence, said: dict[str, Any] | None, body: bytes) -> Evidence:
    if said is None:
        # The HTTP server itself says why in plain text, when it says more than the status line.
        text = body.decode(errors="replace")
        return replace(evidence, message="" if text.lstrip().startswith("<") else text[:_LONGEST])
    named = said.get("errors")
    return replace(
        evidence,
        message=str(said.get("message") or "")[:_LONGEST],
        errors={name[:_SHOWN]: str(why)[:_LONGEST] for name, why in islice(named.items(), _MOST)}
        if isinstance(named, dict)
        else {},
    )


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found = read_json(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _shown(body: bytes) -> str:
    if not body:
        return "an empty body"
    text = body[:_SHOWN].decode(errors="replace")
    return f"not what Proxmox VE answers, it begins with {text!r}"
