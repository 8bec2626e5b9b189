"""Mappings: one name for a device or a folder of the same kind on each host, which machines can be given."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.shared_file import changing, check_digest
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_READERS = ("Mapping.Modify", "Mapping.Use", "Mapping.Audit")

Mappings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """What can be mapped."""

    name: str
    """As in paths, of the API and of rights."""
    words: str
    options: frozenset[str]
    kept: Callable[[Datacenter], Mappings]
    findings: str = "checks"
    """Where lists say what is wrong with a mapping on the host that was asked to look."""

    def add_calls(self) -> None:
        """Answer for it."""
        path = f"/cluster/mapping/{self.name}"
        handlers("GET", path)(self.list)
        handlers("POST", path)(self.create)
        handlers("GET", f"{path}/{{id}}")(self.get)
        handlers("PUT", f"{path}/{{id}}")(self.update)
        handlers("DELETE", f"{path}/{{id}}")(self.remove)

    async def list(self, call: Call) -> Json:
        """Those that the caller may see, and whether they mean anything on a host that is named."""
        known, host = self._known(call), call.get("check-node")
        return [
            {"id": name, "type": self.name, **facts, "digest": _digest(known)}
            | ({} if host is None else {self.findings: _findings(facts, host)})
            for name, facts in sorted(known.items())
            if call.rights.may(f"/mapping/{self.name}/{name}", _READERS, any=True)
        ]

    async def get(self, call: Call) -> Json:
        """One of them."""
        known = self._known(call)
        if call["id"] not in known:
            raise Failure(f"mapping '{call['id']}' not found\n")
        return {"type": self.name, **known[call["id"]], "digest": _digest(known)}

    async def create(self, call: Call) -> Json:
        """A new one."""
        known = self._known(call)
        async with changing(call, self._lock, f"create {self.words} mapping failed"):
            if call["id"] in known:
                raise Failure(f"{self.name} ID '{call['id']}' already defined\n")
            known[call["id"]] = _given(call)
        return None

    async def update(self, call: Call) -> Json:
        """Change it; what it stands for has to be said again."""
        known = self._known(call)
        async with changing(call, self._lock, f"update {self.words} mapping failed"):
            check_digest(call, _digest(known))
            if call["id"] not in known:
                raise Failure(f"{self.name} ID '{call['id']}' does not exist\n")
            given = _given(call)
            if "map" not in given:
                raise Failure("missing value for required option 'map'\n")
            gone = split_list(call.get("delete") or "")
            for name in gone:
                if name not in self.options:
                    raise Failure(f"no such option '{name}'\n")
                if name == "map":
                    raise Failure("unable to delete required option 'map'\n")
                if name in given:
                    raise Failure(f"cannot set and delete property '{name}' at the same time!\n")
            kept = {name: value for name, value in known[call["id"]].items() if name not in gone}
            known[call["id"]] = kept | given
        return None

    async def remove(self, call: Call) -> Json:
        """Forget it, if it is there."""
        async with changing(call, self._lock, f"delete {self.name} mapping failed"):
            self._known(call).pop(call["id"], None)
        return None

    @property
    def _lock(self) -> str:
        folder = "directory" if self.name == "dir" else self.name
        return f"file-mapping_{folder}_cfg"

    def _known(self, call: Call) -> Mappings:
        return self.kept(call.emulator.datacenter)


for _kind in (
    Kind(
        "pci", "hardware", frozenset({"description", "live-migration-capable", "map", "mdev"}), lambda it: it.mappings
    ),
    Kind("usb", "hardware", frozenset({"description", "map"}), lambda it: it.usb_mappings, findings="errors"),
    Kind("dir", "directory", frozenset({"description", "map"}), lambda it: it.folder_mappings),
):
    _kind.add_calls()


def _findings(facts: Mapping[str, Any], host: str) -> list[dict[str, str]]:
    """Whatever a mapping names is there, so all that can be wrong is that it names nothing."""
    if any(f"node={host}" in str(place).split(",") for place in facts["map"]):
        return []
    return [{"severity": "warning", "message": f"No mapping for node {host}."}]


def _given(call: Call) -> dict[str, Any]:
    given = {name: value for name, value in call.parameters.items() if name not in ("id", "digest", "delete")}
    return {name: int(value) if isinstance(value, bool) else value for name, value in given.items()}


def _digest(known: Mappings) -> str:
    return hashlib.sha1(repr(sorted(known.items())).encode(), usedforsecurity=False).hexdigest()
