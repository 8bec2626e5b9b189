"""What is allowed but unwise in a service."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds import service_forms as forms
from nagaya.apiserver.meta import addresses
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"


def warnings(service: JsonObject) -> list[str]:
    """What to tell a client about a service."""
    spec = service["spec"]
    found = []
    if _HINTS in (service["metadata"].get("annotations") or {}):
        found.append(f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead")
    if spec.get("clusterIP") not in (None, forms.NONE):
        found += _address_warnings(spec, "clusterIPs")
    headless = forms.kind(spec) == forms.CLUSTER_IP and spec.get("clusterIP") == forms.NONE
    external = spec.get("externalIPs")
    elsewhere = forms.kind(spec) == forms.EXTERNAL_NAME
    if headless:
        found += [f"spec.{name} is ignored for headless services" for name in _ignored(spec)]
    found += _address_warnings(spec, "externalIPs")
    if external and not headless and not elsewhere:
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if address := spec.get("loadBalancerIP"):
        found += addresses.address_warnings(_SPEC.child("loadBalancerIP"), address)
    for position, network in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += addresses.network_warnings(_SPEC.child("loadBalancerSourceRanges").index(position), network)
    if elsewhere and external:
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not elsewhere and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _ignored(spec: JsonObject) -> list[str]:
    ignored = [name for name in ("loadBalancerIP", "externalIPs") if spec.get(name)]
    return ignored + (["SessionAffinity"] if spec.get("sessionAffinity") != "None" else [])


def _address_warnings(spec: JsonObject, member: str) -> list[str]:
    return [
        warning
        for position, address in enumerate(spec.get(member) or ())
        for warning in addresses.address_warnings(_SPEC.child(member).index(position), address)
    ]
