"""What PVE 8.4 has otherwise than 9.2, as far as it is known: PVE publishes the schema of its newest version only.

Rights on guest agents were one, VM.Monitor; rules of high availability, bulk actions, custom processor models through
the API and some options came later. Whatever is not named here is taken to be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from nagaya.simulators.proxmox.surface.route import Permissions, Route
from nagaya.simulators.proxmox.surface.schema import Schema

LATER_ROUTES = re.compile(
    r"/access/vncticket$"
    r"|/cluster/(bulk-action|ha/rules|qemu)(/|$)"
    r"|/cluster/ha/status/(arm-ha|disarm-ha)$"
    r"|/cluster/sdn/(dry-run|fabrics|lock|rollback)$"
    r"|/nodes/\{node\}/capabilities/qemu/(cpu-flags|migration)$"
    r"|/nodes/\{node\}/qemu/\{vmid\}/dbus-vmstate$"
    r"|/nodes/\{node\}/query-oci-repo-tags$"
    r"|/nodes/\{node\}/sdn/(fabrics|vnets)(/|$)"
    r"|/nodes/\{node\}/sdn/zones/\{zone\}/(bridges|ip-vrf)$"
    r"|/nodes/\{node\}/storage/\{storage\}/(identity|oci-registry-pull)$"
)

LATER_OPTIONS = frozenset({"allow-ksm", "intel-tdx"})
"""Options of a VM, wherever they can be given or are shown."""

LATER_PARAMETERS = {
    "/cluster/ha/resources": {"auto-rebalance", "failback"},
    "/cluster/ha/resources/{sid}": {"auto-rebalance", "failback"},
    "/cluster/options": {"location"},
    "/nodes/{node}/qemu": {*LATER_OPTIONS, "ha-managed"},
    "/nodes/{node}/qemu/{vmid}/config": LATER_OPTIONS,
    "/nodes/{node}/qemu/{vmid}/migrate": {"with-conntrack-state"},
    "/nodes/{node}/qemu/{vmid}/status/start": {"nets-host-mtu", "with-conntrack-state"},
    "/storage": {"saferemove-stepsize", "snapshot-as-volume-chain", "zfs-base-path"},
    "/storage/{storage}": {"saferemove-stepsize", "snapshot-as-volume-chain", "zfs-base-path"},
}

MONITORED = re.compile(r"/nodes/\{node\}/qemu/\{vmid\}/(agent(/|$)|monitor$)")
MONITOR = Permissions(check=("perm", "/vms/{vmid}", ("VM.Monitor",)))

LATER_RIGHTS = re.compile(r"VM\.GuestAgent\.|VM\.Replicate$")
EARLIER_RIGHT = "VM.Monitor"
RIGHTS_FORMAT = "pve-priv-8.4-list"


def came_later(path: str) -> bool:
    """Whether a path is one that 8.4 does not have."""
    return LATER_ROUTES.match(path) is not None


def at_8_4(newest: Iterable[Route]) -> list[Route]:
    """The routes of 8.4, made from those of 9.2."""
    return [_earlier(route) for route in newest if not came_later(route.path)]


def _earlier(route: Route) -> Route:
    if MONITORED.match(route.path) and route.permissions is not None and route.permissions.user is None:
        return replace(route, permissions=MONITOR)
    if route.path.startswith("/access/roles"):
        return replace(
            route,
            make_parameters=lambda: _with_rights_format(route.make_parameters()),
            make_returns=lambda: _with_rights(route.make_returns()),
        )
    later = LATER_PARAMETERS.get(route.path)
    if later is None:
        return route
    return replace(
        route,
        make_parameters=lambda: _without(route.make_parameters(), later),
        make_returns=lambda: _without(route.make_returns(), later),
    )


def _without(schema: Schema, names: Iterable[str]) -> Schema:
    dropped = frozenset(names)
    kept = {name: part for name, part in schema.properties.items() if name not in dropped}
    return replace(schema, properties=MappingProxyType(kept))


def _with_rights_format(schema: Schema) -> Schema:
    privileges = schema.properties.get("privs")
    if privileges is None:
        return schema
    return replace(
        schema, properties=MappingProxyType({**schema.properties, "privs": replace(privileges, format=RIGHTS_FORMAT)})
    )


def _with_rights(schema: Schema) -> Schema:
    if "VM.Audit" not in schema.properties:
        return schema
    kept = {name: part for name, part in schema.properties.items() if not LATER_RIGHTS.match(name)}
    return replace(schema, properties=MappingProxyType({**kept, EARLIER_RIGHT: schema.properties["VM.Audit"]}))
