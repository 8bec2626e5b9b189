"""datacenter.cfg: options for all hosts. Those that consist of parts are shown taken apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nagaya.simulators.proxmox.surface import routes
from nagaya.simulators.proxmox.surface.schema import Schema
from nagaya.simulators.proxmox.verification import parse

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
    entries: dict[str, Any] = {"description": "", "mac_prefix": MAC_PREFIX}
    for name, value in options.items():
        entries[name] = _parts(name, value) if _schema(name) is not None else value
    if options.get("registered-tags"):
        entries["registered-tags"] = _tags(options["registered-tags"])
    access = entries.get("user-tag-access")
    if isinstance(access, dict) and "user-allow-list" in access:
        access["user-allow-list"] = _tags(access["user-allow-list"])
    return entries


def allowed_tags(options: Mapping[str, Any], *, privileged: bool, used: set[str]) -> list[str]:
    """The tags that a caller may give to machines, as far as they can be listed."""
    access = _parts("user-tag-access", options.get("user-tag-access"))
    registered = set(_tags(options.get("registered-tags") or ""))
    how = access.get("user-allow", "free")
    found = set() if how == "none" else set(_tags(access.get("user-allow-list", "")))
    if how in ("existing", "free"):
        found |= used
    return sorted(found | registered if privileged else found - registered)


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
