"""Folders of the API: GET on one lists what lies in it.

PVE writes some of these lists by hand, and they leave out or add a name here and there; those are below. For the others
the routes are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from nagaya.simulators.proxmox.calls.call import Call, Handler, Json
from nagaya.simulators.proxmox.surface import Route, Routes
from nagaya.simulators.proxmox.surface.difference import came_later

_WRITTEN: Mapping[str, tuple[str, str]] = {
    "/": ("subdir", "version cluster nodes storage access pools"),
    "/access": ("subdir", "users groups roles acl domains openid tfa ticket password"),
    "/cluster": (
        "name",
        "acme backup backup-info bulk-action ceph config firewall ha jobs log mapping metrics notifications "
        "nextid options qemu replication resources status tasks sdn",
    ),
    "/nodes/{node}": (
        "name",
        "aplinfo apt capabilities ceph certificates config disks dns firewall hardware hosts journal lxc "
        "migrateall netstat network qemu query-oci-repo-tags query-url-metadata replication report rrd "
        "rrddata scan sdn services spiceshell startall status stopall storage subscription suspendall syslog "
        "tasks termproxy time version vncshell vzdump wakeonlan",
    ),
    "/nodes/{node}/capabilities/qemu": ("name", "cpu machines migration"),
    "/nodes/{node}/certificates": ("name", "acme custom info"),
    "/nodes/{node}/sdn": ("name", "fabrics vnets zones"),
    "/nodes/{node}/scan": ("method", "cifs iscsi lvm nfs pbs zfs"),
    "/nodes/{node}/qemu/{vmid}": (
        "subdir",
        "config cloudinit pending status unlink vncproxy termproxy migrate resize move rrd rrddata monitor "
        "agent snapshot spiceproxy sendkey firewall mtunnel remote_migrate",
    ),
    "/nodes/{node}/qemu/{vmid}/status": ("subdir", "current start stop reset shutdown suspend reboot"),
    "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}": ("cmd", "rollback config"),
    "/nodes/{node}/storage/{storage}": (
        "subdir",
        "content download-url file-restore identity import-metadata oci-registry-pull prunebackups rrd "
        "rrddata status upload",
    ),
    "/nodes/{node}/tasks/{upid}": ("name", "log status"),
    "/cluster/config": ("name", "nodes totem join qdevice apiversion"),
    "/cluster/metrics": ("name", "server"),
    "/cluster/ha": ("id", "status resources groups rules"),
    "/cluster/ha/status": ("name", "current manager_status disarm-ha arm-ha"),
    "/cluster/sdn": ("id", "vnets zones controllers ipams dns fabrics"),
}
_KEYS = ("subdir", "name", "id", "method", "type", "cmd")


def index_of(routes: Routes, route: Route) -> Handler | None:
    """What answers for a folder; None if the route is none."""
    if route.method != "GET" or route.returns.type != "array":
        return None
    key, names = _written(routes, route) or _children(routes, route)
    if not names:
        return None

    async def index(call: Call) -> Json:
        return [{key: name} for name in names]

    return index


def _written(routes: Routes, route: Route) -> tuple[str, tuple[str, ...]] | None:
    if (written := _WRITTEN.get(route.path)) is None:
        return None
    folder = route.path.rstrip("/")
    names = (name for name in written[1].split() if routes.version != "8.4" or not came_later(f"{folder}/{name}"))
    return written[0], tuple(names)


@cache
def _children(routes: Routes, route: Route) -> tuple[str, tuple[str, ...]]:
    items = route.returns.items
    keys = () if items is None else [key for key in _KEYS if key in items.properties]
    prefix = route.path.rstrip("/") + "/"
    below = (other.path.removeprefix(prefix).partition("/")[0] for other in routes if other.path.startswith(prefix))
    names = dict.fromkeys(name for name in below if not name.startswith("{"))
    return (keys[0] if keys else "name"), tuple(names)
