"""Content under conversion: fields are taken from their old places and put into their new ones.

A draft knows where in the source it is, so that every finding names the field as the user wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nagaya.api.conversion.duration import seconds
from nagaya.api.conversion.finding import Finding

_LONGEST: Final = 2**31 - 1  # seconds are 32 bits wide in v1beta2


class Draft:
    """A map of the object under conversion, which is changed in place."""

    __slots__ = ("content", "findings", "namespace", "path", "subject")

    def __init__(
        self, content: dict[str, Any], findings: list[Finding], subject: str, namespace: str = "", path: str = ""
    ) -> None:
        self.content = content
        self.findings = findings
        self.subject = subject
        self.namespace = namespace
        self.path = path

    def at(self, *names: str) -> Draft | None:
        """The map at a path, None if there is none."""
        content: Any = self.content
        for name in names:
            content = content.get(name) if isinstance(content, dict) else None
        return self._below(content, ".".join(names)) if isinstance(content, dict) else None

    def open(self, *names: str) -> Draft:
        """The map at a path, which is made if there is none."""
        content = self.content
        for name in names:
            below = content.get(name)
            if not isinstance(below, dict):
                content[name] = below = {}
            content = below
        return self._below(content, ".".join(names))

    def each(self, name: str) -> Iterator[Draft]:
        """The maps in a list."""
        items = self.content.get(name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                yield self._below(item, f"{name}[{index}]")

    def take(self, name: str) -> Any:
        """Remove a field and hand it over; None if it is not there."""
        return self.content.pop(name, None)

    def take_map(self, name: str) -> Draft | None:
        """Remove a field that is a map and hand it over."""
        if not isinstance(self.content.get(name), dict):
            return None
        return self._below(self.content.pop(name), name)

    def take_pairs(self, name: str) -> dict[str, Any]:
        """Remove a map of labels or the like and hand over what is in it; nothing if it is not there."""
        taken = self.take_map(name)
        return {} if taken is None else taken.content

    def put(self, value: Any, *names: str) -> None:
        """Set a field, with the maps on the way to it. Does nothing for None."""
        if value is None:
            return
        holder = self.open(*names[:-1]) if len(names) > 1 else self
        holder.content[names[-1]] = value

    def move(self, name: str, *names: str) -> None:
        """Take a field and put it elsewhere."""
        self.put(self.take(name), *names)

    def move_seconds(self, name: str, *names: str) -> None:
        """Take a duration and put it elsewhere in whole seconds."""
        self.put(self.take_seconds(name), *names)

    def take_seconds(self, name: str) -> int | None:
        """Remove a duration and hand it over in whole seconds; parts of a second are cut off, and reported."""
        text = self.take(name)
        if text is None:
            return None
        try:
            exact = seconds(text) if isinstance(text, str) else None
        except ValueError:
            exact = None
        if exact is None:
            self.report(name, f"not carried over: {text!r} is not a duration such as 90s or 1h30m.", loss=True)
            return None
        whole = min(int(exact), _LONGEST)
        if whole != exact:
            self.report(name, f"{text} became {whole} s: v1beta2 counts in whole seconds.", loss=True)
        return whole

    def drop(self, name: str, why: str, *, loss: bool = True) -> None:
        """Remove a field that has no successor, and say so if it was there."""
        if name in self.content and self.take(name) is not None:
            self.report(name, why, loss=loss)

    def drop_rest(self, *known: str) -> None:
        """Remove all fields but the known ones, and say so."""
        for name in [each for each in self.content if each not in known]:
            self.drop(name, "not carried over: v1beta2 has no such field.")

    def report(self, name: str, message: str, *, loss: bool) -> None:
        """Add a finding about a field."""
        self.findings.append(Finding(self.subject, self._path(name), message, loss))

    def _below(self, content: dict[str, Any], name: str) -> Draft:
        return Draft(content, self.findings, self.subject, self.namespace, self._path(name))

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name
