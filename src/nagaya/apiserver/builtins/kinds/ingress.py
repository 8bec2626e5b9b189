"""Ingresses: which requests from outside reach which service."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.core_strategy import restore
from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStatusStrategy, OrderedStrategy, Step
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
NOT_AN_ADDRESS: Final = "must be a DNS name, not an IP address"
_POINTS: Final = Path("status").child("loadBalancer", "ingress")


class IngressStrategy(OrderedStrategy):
    """Ingress."""

    namespaced = True
    counts_generations = True
    status_apart = True
    reset_fields = ("status",)
    update_steps = (Step.METADATA_CHANGES, Step.METADATA, Step.RULES)

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The first generation, without a load balancer."""
        super().prepare_create(obj, call)
        obj["status"] = {"loadBalancer": {}}

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Backends, hosts and paths."""
        from nagaya.apiserver.builtins.kinds import ingress_rules

        errors = ingress_rules.rules(obj["spec"], old["spec"] if old else None)
        name = obj["spec"].get("ingressClassName")
        annotated = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
        if old is None and None not in (name, annotated) and annotated != name:
            where = Path("annotations").child(CLASS_ANNOTATION)
            errors.append(invalid(where, annotated, "must match `ingressClassName` when both are specified"))
        return errors

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """The old way to name a class."""
        if CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}) and "ingressClassName" not in obj["spec"]:
            return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
        return []


class IngressStatusStrategy(OrderedStatusStrategy):
    """Writes to an ingress's status. Metadata may change."""

    namespaced = True
    reset_fields = ("spec",)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep the spec."""
        restore(new, old, "spec")

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Points of entry have addresses and names."""
        known = {each["ip"] for each in _points(old) if each.get("ip")}
        errors: list[FieldError] = []
        for position, each in enumerate(_points(new)):
            where = _POINTS.index(position)
            if address := each.get("ip"):
                errors += addresses.validate_legacy_address(where.child("ip"), address, known=known)
            if hostname := each.get("hostname"):
                place = where.child("hostname")
                errors += [invalid(place, hostname, problem) for problem in names.dns_subdomain(hostname)]
                if addresses.parse_address(hostname) is not None:
                    errors.append(invalid(place, hostname, NOT_AN_ADDRESS))
        return errors

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """Addresses in odd forms."""
        return [
            warning
            for position, each in enumerate(_points(new))
            for warning in addresses.address_warnings(_POINTS.index(position), each.get("ip") or "")
        ]


def _points(obj: JsonObject) -> list[JsonObject]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
