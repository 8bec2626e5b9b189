"""datacenter.cfg: options for all hosts. Those that consist of parts are shown taken apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.surface import routes
from nagaya.simulators.proxmox.surface.schema import Schema
from nagaya.simulators.proxmox.verification import parse, render

FIRST, LAST = 100, 1000 * 1000
"""Numbers of machines that are handed out if nothing else is said; the last one no more."""
MAC_PREFIX = "BC:24:11"
_TAGS = re.compile(r"[;, ]+")


def bounds(options: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Between which numbers new machines lie."""
    parts = _parts("next-id", options.get("next-id"))
    return parts.get("lower"), parts.get("upper")


def shown(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the API shows them."""
    entries: dict[str, Any] = {"mac_prefix": MAC_PREFIX}
    for name, value in options.items():
        entries[name] = _parts(name, value) if _taken_apart(name) else value
    entries["description"] = commented(str(options.get("description") or ""))
    if options.get("registered-tags"):
        entries["registered-tags"] = str(options["registered-tags"]).split(";")
    access = entries.get("user-tag-access")
    if isinstance(access, dict) and "user-allow-list" in access:
        access["user-allow-list"] = str(access["user-allow-list"]).split(";")
    return entries


def check(options: Mapping[str, Any]) -> None:
    """Refuse to write what makes no sense."""
    if options.get("next-id") is None:
        return
    lower, upper = bounds(options)
    first, last = int(lower or FIRST), int(upper or LAST)
    if first > last:
        raise Failure(f"lower ({first}) <= upper ({last}) boundary rule broken\n")


def rewritten(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options after they were read and written again: lists of tags are in order then."""
    kept = dict(options)
    if kept.get("registered-tags"):
        kept["registered-tags"] = _in_order(kept["registered-tags"])
    access = _parts("user-tag-access", kept.get("user-tag-access"))
    schema = _schema("user-tag-access")
    if access.get("user-allow-list") and schema is not None:
        access["user-allow-list"] = _in_order(access["user-allow-list"])
        kept["user-tag-access"] = render(access, schema)
    return kept


def allowed_tags(options: Mapping[str, Any], *, privileged: bool, used: set[str]) -> list[str]:
    """The tags that a caller may give to machines, as far as they can be listed."""
    access = _parts("user-tag-access", options.get("user-tag-access"))
    registered = set(_tags(options.get("registered-tags") or ""))
    how = access.get("user-allow", "free")
    found = set() if how == "none" else set(_tags(access.get("user-allow-list", "")))
    if how in ("existing", "free"):
        found |= used
    return sorted(found | registered if privileged else found - registered)


def commented(text: str) -> str:
    """What is read of a text that was kept as lines of comment."""
    return "".join(f"{line}\n" for line in text.rstrip("\n").split("\n")) if text.strip("\n") else ""


def _in_order(tags: object) -> str:
    return ";".join(sorted(str(tags).split(";")))


def _taken_apart(name: str) -> bool:
    return name != "bwlimit" and _schema(name) is not None


def _tags(text: Any) -> list[str]:
    return sorted({tag for tag in _TAGS.split(str(text)) if tag})


def _schema(name: str) -> Schema | None:
    found = routes().get("PUT", "/cluster/options").parameters.properties.get(name)
    return found.format if found is not None and isinstance(found.format, Schema) else None


def _parts(name: str, value: Any) -> dict[str, Any]:
    schema = _schema(name)
    if not value or schema is None:
        return {}
    return {key: int(part) if isinstance(part, bool) else part for key, part in parse(schema, str(value)).items()}
