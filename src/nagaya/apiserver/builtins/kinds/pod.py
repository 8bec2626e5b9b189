"""Pods, their subresources, and templates that stand alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.builtins.kinds import core_metadata, pod_defaults
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy, restore
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.pod_template import PodTemplateStrategy
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

if TYPE_CHECKING:
    from nagaya.apiserver.web.options import DeleteOptions

_SELECTABLE: Final = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
)
_NOT_FROM_SUBRESOURCE: Final = (
    "deletionTimestamp",
    "generation",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
)


_FIELD_LABELS: Final[Mapping[str, str]] = {
    "metadata.name": "metadata.name",
    "metadata.namespace": "metadata.namespace",
    **{label: label for label in _SELECTABLE},
    "spec.host": "spec.nodeName",
}


class PodStrategy(CoreStrategy):
    """Pods through their main endpoint."""

    reset_fields: tuple[str, ...] = ("status",)
    returns_deleted = True
    selectable_fields = frozenset(_SELECTABLE)
    field_labels = _FIELD_LABELS

    def default(self, obj: JsonObject) -> None:
        """Everything a pod may leave out."""
        pod_defaults.default_pod(obj)

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """A new pod waits for a node."""
        from nagaya.apiserver.builtins.kinds import pod_creation

        pod_creation.prepare(obj, call)

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The rules for new pods."""
        from nagaya.apiserver.builtins.kinds import pod_validation

        return [*core_metadata.finalizers(obj["metadata"]), *pod_validation.validate_new(obj)]

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """What is likely a mistake."""
        from nagaya.apiserver.builtins.kinds import pod_warnings

        return pod_warnings.for_pod(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status stays; a changed spec counts."""
        restore(new, old, "status")
        self.finish_update(new, old)

    def finish_update(self, new: JsonObject, old: JsonObject) -> None:
        """What every change of a spec ends with."""
        from nagaya.apiserver.builtins.kinds.pod_disabled import drop_disabled
        from nagaya.apiserver.builtins.kinds.pod_sameness import same

        pod_defaults.name_service_account(new["spec"])
        drop_disabled(new["spec"], old["spec"])
        if not same("core/v1.PodSpec", new["spec"], old["spec"]):
            new["metadata"]["generation"] = (new["metadata"].get("generation") or 0) + 1

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for pods, then those for changes."""
        from nagaya.apiserver.builtins.kinds import pod_validation

        rules = pod_validation.rules_of(old)
        return [
            *self.metadata_rules(new, old, found),
            *pod_validation.validate_whole(new, rules),
            *pod_validation.validate_change(new, old, rules),
        ]

    def metadata_rules(self, new: JsonObject, old: JsonObject, found: Sequence[FieldError]) -> list[FieldError]:
        """The rules for metadata, which come first in every change."""
        return [*core_metadata.updated(new["metadata"], old["metadata"], found), *self.complete(new, found)]

    def grace_period(self, obj: JsonObject, options: DeleteOptions) -> int | None:
        """A pod that runs gets time to end; one that never ran or has ended goes at once."""
        spec = obj["spec"]
        if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            return 0
        period = options.grace_period
        if period is None:
            period = spec.get("terminationGracePeriodSeconds") or 0
        return 1 if period < 0 else period

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """What pods are selected by."""
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        addresses = status.get("podIPs")
        return {
            "spec.nodeName": spec.get("nodeName") or "",
            "spec.restartPolicy": spec.get("restartPolicy") or "",
            "spec.schedulerName": spec.get("schedulerName") or "",
            "spec.serviceAccountName": spec.get("serviceAccountName") or "",
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase") or "",
            "status.podIP": (addresses[0].get("ip") or "") if addresses else "",
            "status.podIPs": "",
            "status.nominatedNodeName": status.get("nominatedNodeName") or "",
        }


class PodStatusStrategy(CoreStatusStrategy):
    """What a pod's keeper reports."""

    reset_fields = ("spec", "metadata.deletionTimestamp", "metadata.ownerReferences")

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep what is not status, and what the keeper did not mention."""
        restore(new, old, "spec")
        restore(new["metadata"], old["metadata"], "ownerReferences")
        status, before = new.setdefault("status", {}), old.get("status") or {}
        for field in ("qosClass", "observedGeneration"):
            if not status.get(field) and before.get(field):
                status[field] = before[field]
        _keep_generations(status.get("conditions") or (), before.get("conditions") or ())
        if not before.get("nodeAllocatableResourceClaimStatuses"):
            status.pop("nodeAllocatableResourceClaimStatuses", None)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """The rules for statuses."""
        from nagaya.apiserver.builtins.kinds import pod_status

        return list(pod_status.validate_status_change(new, old))

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """Addresses in a form that is on its way out."""
        from nagaya.apiserver.builtins.kinds import pod_warnings

        return pod_warnings.for_status(new.get("status") or {})


def _keep_generations(conditions: Sequence[JsonObject], before: Sequence[JsonObject]) -> None:
    """A condition that does not say which generation it is about says what it said before."""
    known: dict[str, list[int]] = {}
    for condition in before:
        known.setdefault(condition.get("type") or "", []).append(condition.get("observedGeneration") or 0)
    for condition in conditions:
        queue = known.get(condition.get("type") or "")
        generation = queue.pop(0) if queue else 0
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


class _PartStrategy(PodStrategy):
    """Writes that may change one part of a pod's spec and nothing else."""

    # Whoever applies through them owns all that they sent, also what has no effect here.
    reset_fields = ()

    def take(self, new: JsonObject, old: JsonObject) -> None:
        """Undo, in place, whatever else the writer changed in the spec."""

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Only the part changes."""
        self.take(new, old)
        restore(new, old, "status")
        for field in _NOT_FROM_SUBRESOURCE:
            restore(new["metadata"], old["metadata"], field)
        self.finish_update(new, old)


class EphemeralContainersStrategy(_PartStrategy):
    """Containers that are added to look into a running pod."""

    def take(self, new: JsonObject, old: JsonObject) -> None:
        """Only the ephemeral containers are the writer's."""
        spec = {**old["spec"]}
        restore(spec, new["spec"], "ephemeralContainers")
        new["spec"] = spec

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """They are added and stay."""
        from nagaya.apiserver.builtins.kinds import pod_resize

        return [*self.metadata_rules(new, old, found), *pod_resize.validate_ephemeral(new, old)]


class ResizeStrategy(_PartStrategy):
    """Other amounts of CPU and memory for a running pod."""

    def take(self, new: JsonObject, old: JsonObject) -> None:
        """Only the amounts are the writer's."""
        from nagaya.apiserver.builtins.kinds import pod_resize

        pod_resize.keep_only_resize(new, old)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """Nothing else has changed, and the pod's class is the same."""
        from nagaya.apiserver.builtins.kinds import pod_resize

        return [*self.metadata_rules(new, old, found), *pod_resize.validate_resize(new, old)]


_PODS: Final = PodStrategy()

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource("", "pods"): Kind(
        _PODS,
        {
            "status": PodStatusStrategy(_PODS),
            "ephemeralcontainers": EphemeralContainersStrategy(),
            "resize": ResizeStrategy(),
        },
    ),
    GroupResource("", "podtemplates"): Kind(PodTemplateStrategy()),
}
