"""Files that a host fetches from the web, as far as the emulated web goes."""

from __future__ import annotations

import re
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.storages.download import Order, download
from nagaya.simulators.proxmox.storages.files import brought
from nagaya.simulators.proxmox.storages.sources import server_of
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES
from nagaya.simulators.proxmox.storages.volumes import Volumes
from nagaya.simulators.proxmox.tasks.runner import Task

handlers = Handlers()
_NAME = re.compile(r"[^?]+/([^?/]*)(?:\?.*)?")


@handlers("POST", "/nodes/{node}/storage/{storage}/download-url")
async def download_url(call: Call) -> Json:
    """Bring a file to a storage."""
    volumes = Volumes(call.emulator, call.node.name)
    storage = volumes.enabled(call["storage"])
    if storage.type not in FILE_TYPES:
        raise Failure(f"can't upload to storage type '{storage.type}', not a file based storage!\n")
    if call["content"] not in storage.contents:
        raise Failure(f"storage '{storage.name}' is not configured for content-type '{call['content']}'\n")
    file = brought(call["content"], call["filename"])
    volumes.active(storage.name)
    algorithm = call.get("checksum-algorithm") if call.get("checksum") else None
    order = Order(call["url"], file, algorithm, call.get("checksum") or "", call.get("compression"))

    async def work(task: Task) -> None:
        await download(call.emulator, call.node.name, storage, order, task)

    return str(call.emulator.tasks.start(call.node.name, "download", file.name, call.caller.id, work).upid)


@handlers("POST", "/nodes/{node}/storage/{storage}/oci-registry-pull")
async def pull(call: Call) -> Json:
    """An image of a container from a registry: the hosts have no tool for that."""
    raise Failure("Install 'skopeo' to pull OCI images from registries.\n")


@handlers("GET", "/nodes/{node}/query-url-metadata")
async def metadata(call: Call) -> Json:
    """What a server says of a file."""
    url, sources = call["url"], call.emulator.sources
    while True:
        server = server_of(url)
        if not sources.listens(server):
            why = "Connection refused" if sources.resolves(server) else "Name or service not known"
            raise Failure(f"invalid server response: '500 Can't connect to {server.host}:{server.port} ({why})'\n")
        source = sources.find(url)
        if source.redirect is None:
            break
        url = sources.location(url, source)
    if source.status != 200:
        raise Failure(f"invalid server response: '{source.status} {source.reason}'\n")
    shown: dict[str, Any] = {}
    if (found := _NAME.fullmatch(call["url"])) is not None and found[1]:
        shown["filename"] = found[1]
    if source.length:
        shown["size"] = source.length
    if source.content_type:
        shown["mimetype"] = source.content_type.partition(";")[0]
    return shown
