"""Services: a name and an address for a set of endpoints.

Cluster addresses and node ports are given out while a service is written; `service_allocation` does that and
`service_addresses` knows which are taken, so one strategy belongs to one server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import core_metadata
from nagaya.apiserver.builtins.kinds import service_forms as forms
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.service_addresses import ServiceAddresses
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import FieldError, Path
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Undo

_AFFINITY_SECONDS: Final = 10800


class ServiceStrategy(CoreStrategy):
    """Service."""

    allow_create_on_update = True
    name_check = staticmethod(names.name_is_label)
    returns_deleted = True
    reset_fields = ("status",)
    selectable_fields = frozenset({"spec.clusterIP", "spec.type"})
    field_labels: Mapping[str, str] = {
        each: each for each in ("metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type")
    }

    def __init__(self) -> None:
        self._addresses = ServiceAddresses()

    def default(self, obj: JsonObject) -> None:
        """The type, protocols, target ports and policies."""
        spec = obj["spec"]
        _default_affinity(spec)
        spec.setdefault("type", forms.CLUSTER_IP)
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            if port["targetPort"] in (0, ""):
                port["targetPort"] = port["port"]
        if forms.is_external(spec):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if spec["type"] in (forms.CLUSTER_IP, forms.NODE_PORT, forms.LOAD_BALANCER):
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if spec["type"] == forms.LOAD_BALANCER:
            spec.setdefault("allocateLoadBalancerNodePorts", True)
            for ingress in obj["status"]["loadBalancer"].get("ingress") or ():
                if ingress.get("ip"):
                    ingress.setdefault("ipMode", "VIP")

    async def begin_create(self, obj: JsonObject, call: Call) -> Undo | None:
        """Find addresses and ports for the service, or check that those it asks for are free."""
        from nagaya.apiserver.builtins.kinds import service_allocation

        return service_allocation.create(self._addresses, obj, call)

    async def begin_update(self, new: JsonObject, old: JsonObject, call: Call) -> Undo | None:
        """The same for what a change adds."""
        from nagaya.apiserver.builtins.kinds import service_allocation

        return service_allocation.update(self._addresses, new, old, call)

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Nothing balances its load yet."""
        obj["status"] = {"loadBalancer": {}}

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status changes elsewhere, and what the type has no use for any more is dropped."""
        new["status"] = old["status"]
        _drop_unused(new["spec"], old["spec"])
        if forms.kind(new["spec"]) != forms.LOAD_BALANCER and new["status"].get("loadBalancer"):
            new["status"] = {**new["status"], "loadBalancer": {}}

    def canonicalize(self, obj: JsonObject) -> None:
        """A policy for traffic inside the cluster is not shown where there is none."""
        if forms.kind(obj["spec"]) == forms.EXTERNAL_NAME:
            obj["spec"].pop("internalTrafficPolicy", None)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Everything that holds for a service."""
        from nagaya.apiserver.builtins.kinds import service_validation

        return service_validation.rules(obj, old)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """What may not change, then everything that holds for a service."""
        from nagaya.apiserver.builtins.kinds import service_changes

        errors = core_metadata.updated(new["metadata"], old["metadata"], found)
        return errors + service_changes.changes(new["spec"], old["spec"]) + self.rules(new, old)

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Fields that are ignored or on their way out, and addresses in odd forms."""
        from nagaya.apiserver.builtins.kinds import service_warnings

        return service_warnings.warnings(obj)

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return self.warn_create(new, call)

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """The address and the type."""
        spec = obj["spec"]
        return {"spec.clusterIP": spec.get("clusterIP") or "", "spec.type": forms.kind(spec)}


class ServiceStatusStrategy(CoreStatusStrategy):
    """`/status` of a service."""

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Where a load balancer is."""
        from nagaya.apiserver.builtins.kinds import service_validation

        return service_validation.load_balancer_status(
            new["status"]["loadBalancer"], old["status"]["loadBalancer"], new["spec"]
        )

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """Addresses in odd forms."""
        where = Path("status.loadBalancer.ingress")
        return [
            warning
            for position, ingress in enumerate(new["status"]["loadBalancer"].get("ingress") or ())
            if ingress.get("ip")
            for warning in addresses.address_warnings(where.index(position), ingress["ip"])
        ]


def services() -> Kind:
    """The behaviour of services in one server."""
    main = ServiceStrategy()
    return Kind(main, {"status": ServiceStatusStrategy(main)})


def _default_affinity(spec: JsonObject) -> None:
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _drop_unused(new: JsonObject, old: JsonObject) -> None:
    """Drop what the new type has no use for, unless the client changed it too, which is then refused.

    The lists of ports and addresses may be shared with others and are replaced, not changed.
    """
    if forms.needs_cluster_ip(old) and not forms.needs_cluster_ip(new):
        if new.get("clusterIP") == old.get("clusterIP") and forms.ips(new) == forms.ips(old):
            new.pop("clusterIP", None)
            new.pop("clusterIPs", None)
        for member in ("ipFamilies", "ipFamilyPolicy"):
            if new.get(member) == old.get(member):
                new.pop(member, None)
    if forms.has_node_ports(old) and not forms.has_node_ports(new) and new.get("ports"):
        added = set(forms.node_ports(new)) - set(forms.node_ports(old))
        if not added:
            new["ports"] = [{name: each[name] for name in each if name != "nodePort"} for each in new["ports"]]
    if forms.needs_health_check(old) and not forms.needs_health_check(new):
        _drop_same(new, old, "healthCheckNodePort")
    if forms.kind(old) == forms.LOAD_BALANCER != forms.kind(new):
        _drop_same(new, old, "allocateLoadBalancerNodePorts")
        _drop_same(new, old, "loadBalancerClass")
    if forms.is_external(old) and not forms.is_external(new):
        _drop_same(new, old, "externalTrafficPolicy")


def _drop_same(new: JsonObject, old: JsonObject, member: str) -> None:
    if new.get(member) == old.get(member):
        new.pop(member, None)
