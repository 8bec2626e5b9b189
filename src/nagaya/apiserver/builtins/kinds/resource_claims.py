"""The kinds of the group `resource.k8s.io`: devices, and who may use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.device_class import DeviceClassStrategy
from nagaya.apiserver.builtins.kinds.device_slice import ResourceSliceStrategy
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStatusStrategy, OrderedStrategy, Step
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

GROUP: Final = "resource.k8s.io"
_SPEC: Final = Path("spec")
_ADMIN: Final = "resource.kubernetes.io/admin-access"


def default_claim(spec: JsonObject) -> None:
    """Fill in what a claim may leave out, in place: one device, and tolerations of one value."""
    for request in spec["devices"].get("requests") or ():
        exactly = request.get("exactly")
        for part in (exactly, *(request.get("firstAvailable") or ())):
            if part is None:
                continue
            mode = part.setdefault("allocationMode", "ExactCount")
            if mode == "ExactCount":
                part["count"] = part.get("count") or 1
            default_tolerations(part)


def default_tolerations(holder: JsonObject) -> None:
    """Tolerations are of one value unless they say otherwise."""
    for toleration in holder.get("tolerations") or ():
        toleration.setdefault("operator", "Equal")


def admin_errors(call: Call, namespace: str, where: Path) -> list[FieldError]:
    """Devices that somebody else uses are only for namespaces that are marked for administrators."""
    record = call.backend.store.get("namespaces", namespace)
    labels = (record.object()["metadata"].get("labels") or {}) if record else {}
    if labels.get(_ADMIN) == "true":
        return []
    detail = f"admin access to devices requires the `{_ADMIN}: true` label on the containing namespace"
    return [forbidden(where, detail)]


def _admin_request_errors(claim: JsonObject, metadata: JsonObject, call: Call) -> list[FieldError]:
    for position, request in enumerate(claim["devices"].get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            where = _SPEC.child("devices", "requests").index(position).child("adminAccess")
            return admin_errors(call, metadata.get("namespace") or "", where)
    return []


class ResourceClaimStrategy(OrderedStrategy):
    """ResourceClaim."""

    namespaced = True
    returns_deleted = True
    status_apart = True
    reset_fields = ("status",)
    update_steps = (Step.METADATA, Step.METADATA_CHANGES, Step.CHANGES)

    def default(self, obj: JsonObject) -> None:
        """One device of each, and tolerations of one value."""
        default_claim(obj["spec"])
        allocation = (obj.get("status") or {}).get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or ():
            default_tolerations(result)

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """Who may ask, and what is asked for."""
        return _admin_request_errors(obj["spec"], obj["metadata"], call) + super().validate_create(obj, call, found)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Requests, constraints and configuration."""
        from nagaya.apiserver.builtins.kinds import resource_claims_rules

        return resource_claims_rules.errors(obj["spec"], _SPEC)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """What is asked for stays."""
        if new["spec"] == old["spec"]:
            return []
        from nagaya.apiserver.builtins.kinds import resource_claims_shape

        return resource_claims_shape.claim_changed(new["spec"])


class ResourceClaimStatusStrategy(OrderedStatusStrategy):
    """Writes to a claim's status: what was allocated, for whom, and how the devices are."""

    namespaced = True

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep the rest, and forget the state of devices that are not allocated any more."""
        from nagaya.apiserver.builtins.kinds import resource_claims_status

        super().prepare_update(new, old, call)
        resource_claims_status.forget_devices(new["status"], old.get("status") or {})

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """Who may write it, and what is written."""
        from nagaya.apiserver.builtins.kinds import resource_claims_access

        refused = resource_claims_access.errors(new, old, call)
        return refused + super().validate_update(new, old, call, found)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """The allocation stays, and everything else fits it."""
        from nagaya.apiserver.builtins.kinds import resource_claims_status

        return resource_claims_status.errors(new, old)


class ResourceClaimTemplateStrategy(OrderedStrategy):
    """ResourceClaimTemplate."""

    namespaced = True
    returns_deleted = True
    update_steps = (Step.METADATA, Step.RULES, Step.METADATA_CHANGES, Step.CHANGES)

    def default(self, obj: JsonObject) -> None:
        """As for the claims that are made from it."""
        default_claim(obj["spec"]["spec"])

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """Who may ask, and what is asked for."""
        claim = obj["spec"]["spec"]
        return _admin_request_errors(claim, obj["metadata"], call) + super().validate_create(obj, call, found)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The metadata that claims get, and what they ask for."""
        from nagaya.apiserver.builtins.kinds import resource_claims_rules

        return resource_claims_rules.template_errors(obj["spec"], _SPEC)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """A template stays."""
        if new["spec"] == old["spec"]:
            return []
        from nagaya.apiserver.builtins.kinds import resource_claims_shape

        return resource_claims_shape.template_changed(new["spec"])


_CLAIM: Final = ResourceClaimStrategy()

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource(GROUP, "deviceclasses"): Kind(DeviceClassStrategy()),
    GroupResource(GROUP, "resourceclaims"): Kind(_CLAIM, {"status": ResourceClaimStatusStrategy(_CLAIM)}),
    GroupResource(GROUP, "resourceclaimtemplates"): Kind(ResourceClaimTemplateStrategy()),
    GroupResource(GROUP, "resourceslices"): Kind(ResourceSliceStrategy()),
}
