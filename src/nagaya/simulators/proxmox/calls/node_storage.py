"""The storages as one host sees them."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.rrd import empty_graph
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.storages.listing import accessible
from nagaya.simulators.proxmox.storages.usage import status_of
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES
from nagaya.simulators.proxmox.storages.volumes import Volumes
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_READERS = ("Datastore.Audit", "Datastore.AllocateSpace")
_ONE = "/nodes/{node}/storage/{storage}"


@handlers("GET", "/nodes/{node}/storage")
async def storages(call: Call) -> Json:
    """Those that the caller may see, how full they are and whether they can be used here."""
    datacenter, here = call.emulator.datacenter, call.node.name
    wanted = None if call.get("content") is None else set(split_list(call["content"]))
    target = None if call.get("target") in (None, here, "localhost") else call["target"]
    shown = {}
    for storage in datacenter.storages.values():
        usable = storage.enabled and storage.on(here)
        if wanted is None or (usable and wanted & set(storage.contents)):
            shown[storage.name] = storage
    if call.get("storage") and call["storage"] not in shown:
        raise ParameterFailure({"storage": "No such storage."})
    rows = []
    for name, storage in shown.items():
        if not call.rights.may(f"/storage/{name}", _READERS, any=True) or call.get("storage") not in (None, name):
            continue
        if call.get("enabled") and not storage.enabled:
            continue
        if target is not None and not (storage.shared and storage.on(here) and storage.on(target)):
            continue
        row = status_of(datacenter, storage, here, formats=bool(call.get("format")))
        if row["total"]:
            row["used_fraction"] = row["used"] / row["total"]
        rows.append({"storage": name, **row})
    return rows


@handlers("GET", f"{_ONE}/status")
async def status(call: Call) -> Json:
    """One of them."""
    storage = call.emulator.datacenter.storages.get(call["storage"])
    if storage is None:
        raise ParameterFailure({"storage": "No such storage."})
    return status_of(call.emulator.datacenter, storage, call.node.name)


@handlers("GET", f"{_ONE}/rrddata")
async def graph(call: Call) -> Json:
    """How it was over time. Nobody keeps that here."""
    return empty_graph(call)


@handlers("GET", f"{_ONE}/identity")
async def identity(call: Call) -> Json:
    """What it is, if it can say so."""
    storage = Volumes(call.emulator, call.node.name).enabled(call["storage"])
    raise Failure(f"storage type '{storage.type}' does not support querying identity\n")


@handlers("GET", f"{_ONE}/import-metadata")
async def import_metadata(call: Call) -> Json:
    """What machine an archive describes."""
    volumes = Volumes(call.emulator, call.node.name)
    volume_id = f"{call['storage']}:{call['volume']}"
    storage, name = volumes.parse(volume_id)
    if not accessible(volumes, call.rights, volume_id):
        call.rights.check(f"/storage/{storage.name}", _READERS, any=True)
    if storage.type not in FILE_TYPES:
        raise Failure("storage does not support the importer API\n")
    if name.content != "import":
        raise Failure(f"invalid content type '{name.content}'\n")
    if name.format not in ("ova", "ovf"):
        raise Failure("invalid format\n")
    if volumes.find(volume_id) is None:
        raise Failure(f"volume '{volume_id}' does not exist\n")
    warnings = [{"type": "ova-needs-extracting"}] if name.format == "ova" else []
    return {
        "type": "vm",
        "source": call["volume"],
        "create-args": {},
        "disks": {},
        "net": {},
        "warnings": warnings,
    }
