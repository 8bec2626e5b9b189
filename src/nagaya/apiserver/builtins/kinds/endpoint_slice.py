"""EndpointSlices: the addresses behind a service, in portions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.core_strategy import CoreStrategy, immutable
from nagaya.apiserver.meta import addresses
from nagaya.apiserver.meta.field_errors import FieldError, Path
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_HOSTNAME: Final = "kubernetes.io/hostname"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_KEEPERS: Final = frozenset({"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"})


class EndpointSliceStrategy(CoreStrategy):
    """EndpointSlice."""

    def default(self, obj: JsonObject) -> None:
        """A port has a name, if only an empty one, and is TCP unless it says otherwise."""
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The first generation, without what only an older version could write."""
        obj["metadata"]["generation"] = 1
        _drop_topology(obj, None)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """A new generation if anything but metadata changes, or the labels do."""
        mine, before = new["metadata"], old["metadata"]
        if _content(new) != _content(old) or (mine.get("labels") or {}) != (before.get("labels") or {}):
            mine["generation"] = (before.get("generation") or 0) + 1
        if (new.get("endpoints") or []) != (old.get("endpoints") or []):
            _drop_topology(new, old)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Addresses of the slice's type, and ports."""
        from nagaya.apiserver.builtins.kinds import endpoint_slice_validation

        return endpoint_slice_validation.rules(obj, old)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for a new one, and that the type of addresses stays."""
        stays = immutable("addressType", new.get("addressType") or "", old.get("addressType") or "")
        return [*self.complete(new, found), *self.rules(new, old), *stays]

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """A type of addresses that is on its way out, and addresses in odd forms."""
        deprecated = ["spec.addressType: FQDN endpoints are deprecated"] if obj.get("addressType") == "FQDN" else []
        return deprecated + _warnings(obj)

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """Addresses in odd forms."""
        return _warnings(new)


def _content(obj: JsonObject) -> JsonObject:
    members = ("addressType", "endpoints", "ports")
    return {member: obj[member] for member in members if obj.get(member)}


def _drop_topology(new: JsonObject, old: JsonObject | None) -> None:
    """Forget the old way to say where an endpoint is, but keep a node's name that was only said there."""
    known = {
        (endpoint.get("deprecatedTopology") or {}).get(_HOSTNAME)
        for endpoint in (old.get("endpoints") or () if old else ())
    }
    for endpoint in new.get("endpoints") or ():
        topology = endpoint.pop("deprecatedTopology", None) or {}
        name = topology.get(_HOSTNAME)
        if name and name in known and endpoint.get("nodeName") is None:
            endpoint["nodeName"] = name


def _warnings(obj: JsonObject) -> list[str]:
    if (obj["metadata"].get("labels") or {}).get(_MANAGED_BY) in _KEEPERS:
        return []
    where = Path("endpoints")
    return [
        warning
        for position, endpoint in enumerate(obj.get("endpoints") or ())
        for each, address in enumerate(endpoint.get("addresses") or ())
        for warning in addresses.address_warnings(where.index(position).child("addresses").index(each), address)
    ]
