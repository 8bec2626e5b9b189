"""The calls of Proxmox VE's API that the life of a cluster makes: each of them goes wrong in some test.

The list is written down, so that every test has its name before anything runs; a plain life must make just these.
"""

from __future__ import annotations

from typing import Final

CLONE: Final = "POST /nodes/{node}/qemu/{vmid}/clone"
CONFIGURE: Final = "PUT /nodes/{node}/qemu/{vmid}/config"
RESIZE: Final = "PUT /nodes/{node}/qemu/{vmid}/resize"
UPLOAD: Final = "POST /nodes/{node}/storage/{storage}/upload"
START: Final = "POST /nodes/{node}/qemu/{vmid}/status/start"
ASK_GUEST: Final = "GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces"
REMOVE_VOLUME: Final = "DELETE /nodes/{node}/storage/{storage}/content/{volume}"
STOP: Final = "POST /nodes/{node}/qemu/{vmid}/status/stop"
DESTROY: Final = "DELETE /nodes/{node}/qemu/{vmid}"
CHANGES: Final = (CLONE, CONFIGURE, RESIZE, UPLOAD, START, REMOVE_VOLUME, STOP, DESTROY)
READS: Final = (
    "GET /version",
    "GET /access/permissions",
    "GET /cluster/resources",
    "GET /cluster/status",
    "GET /cluster/nextid",
    "GET /nodes/{node}/certificates/info",
    "GET /nodes/{node}/network",
    "GET /nodes/{node}/qemu",
    "GET /nodes/{node}/qemu/{vmid}/config",
    "GET /nodes/{node}/qemu/{vmid}/status/current",
    ASK_GUEST,
    "GET /nodes/{node}/qemu/{vmid}/agent/file-read",
    "GET /nodes/{node}/storage",
    "GET /nodes/{node}/storage/{storage}/content",
    "GET /nodes/{node}/tasks/{upid}/status",
)
CALLS: Final = (*READS, *CHANGES)
SOMETIMES: Final = ("GET /nodes/{node}/tasks", "GET /nodes/{node}/tasks/{upid}/log")
"""Calls that are made or not, by how tasks happen to come together, or only when something failed."""
