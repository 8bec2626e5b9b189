"""Tags: how a list of them is kept, and who may set which."""

from __future__ import annotations

from collections import Counter
from typing import Any

from nagaya.simulators.proxmox.access.rights import Rights
from nagaya.simulators.proxmox.failure import Forbidden
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.verification import split_list


def _parts(value: object) -> dict[str, str]:
    """The parts of an option of the data center, be it kept as text or taken apart."""
    if isinstance(value, dict):
        return {str(name): str(part) for name, part in value.items()}
    pairs = (part.partition("=") for part in str(value or "").split(",") if part)
    return {name: part for name, _, part in pairs}


def tags_of(value: Any) -> list[str]:
    """The tags in a list of them, be it kept as text or taken apart."""
    return [str(tag) for tag in value] if isinstance(value, list | tuple | set) else split_list(str(value or ""))


def unique(text: str, datacenter: Datacenter) -> str:
    """As they are kept: in lower case, by name and once, unless the data center has another style."""
    style = _parts(datacenter.options.get("tag-style"))
    sensitive = style.get("case-sensitive") in ("1", "True")
    tags = split_list(text)
    if not sensitive:
        tags = [tag.lower() for tag in tags]
    if style.get("ordering") != "config":
        tags = sorted(tags)
    return ";".join(dict.fromkeys(tags))


def check(vmid: int, old: object, new: object, rights: Rights, datacenter: Datacenter) -> None:
    """Refuse tags that the caller may not set or remove."""
    rights.check_machine(vmid, None, ["VM.Config.Options"])
    if rights.may("/", ["Sys.Modify"]):
        return
    before, after = Counter(split_list(str(old or ""))), Counter(split_list(str(new or "")))
    changed = [tag for tag in dict.fromkeys([*before, *after]) if before[tag] != after[tag]]
    if not changed:
        return
    access = _parts(datacenter.options.get("user-tag-access"))
    mode = access.get("user-allow", "free")
    registered = set(tags_of(datacenter.options.get("registered-tags")))
    allowed = set(tags_of(access.get("user-allow-list"))) if mode != "none" else set()
    if mode == "existing":
        for guest in datacenter.guests.values():
            if rights.may(f"/vms/{guest.vmid}", ["VM.Audit"]):
                allowed |= set(tags_of(guest.config.get("tags")))
    for tag in changed:
        if tag in registered or (mode != "free" and tag not in allowed):
            raise Forbidden(f"/, Sys.Modify for modifying tag '{tag}'")
