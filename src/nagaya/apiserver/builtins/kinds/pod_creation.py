"""What the server itself writes into a new pod: its first status, and selectors made complete from its labels."""

from __future__ import annotations

from collections.abc import Sequence

from nagaya.apiserver.builtins.kinds import pod_defaults, pod_resources
from nagaya.apiserver.builtins.kinds.pod_annotations import APP_ARMOR
from nagaya.apiserver.builtins.kinds.pod_disabled import drop_disabled
from nagaya.apiserver.builtins.kinds.pod_rules import affinity_terms
from nagaya.apiserver.builtins.kinds.pod_security import validate_app_armor
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call


def prepare(pod: JsonObject, call: Call) -> None:
    """Make a pod ready to be stored, in place."""
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["generation"] = 1
    # Admission may have named the service account once only.
    pod_defaults.name_service_account(spec)
    status: JsonObject = {"phase": "Pending", "qosClass": pod_resources.computed_qos_class(pod)}
    pod["status"] = status
    drop_disabled(spec, None)
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": call.backend.now(),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    labels = metadata.get("labels") or {}
    for term in affinity_terms(spec):
        _complete(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _complete(constraint, labels)
    _name_app_armor(metadata, spec, call)


def _complete(term: JsonObject, labels: JsonObject) -> None:
    """Put the pod's own labels into a selector that asks for them by key."""
    selector = term.get("labelSelector")
    if selector is None:
        return
    _add(selector, term.get("matchLabelKeys") or (), "In", labels)
    _add(selector, term.get("mismatchLabelKeys") or (), "NotIn", labels)


def _add(selector: JsonObject, keys: Sequence[str], operator: str, labels: JsonObject) -> None:
    made = [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels]
    if made:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *made]


def _name_app_armor(metadata: JsonObject, spec: JsonObject, call: Call) -> None:
    """Turn the annotations of before 1.30 into the field."""
    annotations = metadata.get("annotations") or {}
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return
    pod_wide = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in pod_defaults.all_containers(spec):
        key = f"{APP_ARMOR}{container.get('name')}"
        if key not in annotations or (container.get("securityContext") or {}).get("appArmorProfile") is not None:
            continue
        profile = app_armor_of(annotations[key])
        if profile is not None and profile == pod_wide:
            continue
        if profile is not None:
            container["securityContext"] = {**(container.get("securityContext") or {}), "appArmorProfile": profile}
        place = Path("metadata.annotations").key(key)
        call.warn(f'{place}: deprecated since v1.30; use the "appArmorProfile" field instead')


def app_armor_of(annotation: str) -> JsonObject | None:
    """The profile that an annotation names; None if it names none."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    if annotation.startswith("localhost/"):
        profile = {"type": "Localhost", "localhostProfile": annotation.removeprefix("localhost/")}
        return None if any(validate_app_armor(profile, Path())) else profile
    return None
