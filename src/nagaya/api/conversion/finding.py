"""What a conversion has to tell: one sentence for each field that did not come through as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person should know about a converted object."""

    subject: str
    """The object in the source, such as `Machine default/worker-1`."""

    path: str
    """The field in the source, such as `spec.configSource`."""

    message: str
    """What became of it, and what to do."""

    loss: bool
    """Whether the result says less than the source, or lacks something that only a person can add."""

    def __str__(self) -> str:
        return f"{self.subject}: {self.path}: {self.message}"


def subject_of(content: Mapping[str, Any]) -> str:
    """How findings name an object."""
    metadata = content.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    name = metadata.get("name") or metadata.get("generateName") or "(without a name)"
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{content.get('kind')} {place}{name}"
