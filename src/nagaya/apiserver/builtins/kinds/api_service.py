"""API services: who serves a group version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStatusStrategy, OrderedStrategy, Step
from nagaya.apiserver.meta import gostring, names, object_meta
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, not_supported, required
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_SPEC: Final = Path("spec")
_MOST_GROUP_PRIORITY: Final = 20000
_MOST_VERSION_PRIORITY: Final = 1000
_STATUSES: Final = ("True", "False", "Unknown")


class APIServiceStrategy(OrderedStrategy):
    """APIService."""

    allow_unconditional_update = False
    finalizers_qualified = False
    status_apart = True
    reset_fields = ("status",)
    # The name has to follow from the spec, so it is checked with the spec.
    name_check = staticmethod(names.path_segment)
    update_steps = (Step.METADATA_CHANGES, Step.METADATA, Step.RULES)

    def default(self, obj: JsonObject) -> None:
        """Services are reached at the port for HTTPS."""
        if (service := obj["spec"].get("service")) is not None:
            service.setdefault("port", 443)

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """What the server serves itself is there at once."""
        obj["status"] = {} if obj["spec"].get("service") else {"conditions": [_local(call)]}

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The name, and the rules."""
        return self.rules(obj, None)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """A group version that fits the name, priorities, and a service to ask."""
        spec = obj["spec"]
        group, version = spec.get("group") or "", spec.get("version") or ""
        errors = _name_errors(obj["metadata"], f"{version}.{group}")
        place = _SPEC.child("group")
        if not group and version != "v1":
            errors.append(required(place, "only v1 may have an empty group and it better be legacy kube"))
        if group:
            errors += [invalid(place, group, problem) for problem in names.dns_subdomain(group)]
        errors += [invalid(_SPEC.child("version"), version, problem) for problem in names.dns1035_label(version)]
        for member, most in (
            ("groupPriorityMinimum", _MOST_GROUP_PRIORITY),
            ("versionPriority", _MOST_VERSION_PRIORITY),
        ):
            if not 0 < spec[member] <= most:
                errors.append(invalid(_SPEC.child(member), spec[member], f"must be positive and less than {most}"))
        return errors + _reach_errors(spec)


class APIServiceStatusStrategy(OrderedStatusStrategy):
    """Writes to an API service's status."""

    finalizers_qualified = False

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Conditions are true, false or unknown."""
        where = Path("status").child("conditions")
        return [
            not_supported(where.index(position).child("status"), condition.get("status") or "", _STATUSES)
            for position, condition in enumerate(new["status"].get("conditions") or ())
            if condition.get("status") not in _STATUSES
        ]


def _name_errors(metadata: JsonObject, due: str) -> list[FieldError]:
    detail = f'must be `spec.version+"."+spec.group`: {gostring.quote(due)}'
    return [
        invalid(object_meta.METADATA.child(member), text, detail)
        for member in ("generateName", "name")
        if (text := metadata.get(member)) and text != due and not names.path_segment(text)
    ]


def _reach_errors(spec: JsonObject) -> list[FieldError]:
    from nagaya.apiserver.builtins.kinds.config_map import decoded_size

    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify")
    trust, skip = _SPEC.child("caBundle"), _SPEC.child("insecureSkipTLSVerify")
    errors: list[FieldError] = []
    if service is None:
        if bundle:
            shown = f"{decoded_size(bundle)} bytes"
            errors.append(invalid(trust, shown, "local APIServices may not have a caBundle"))
        if insecure:
            errors.append(invalid(skip, True, "local APIServices may not have insecureSkipTLSVerify"))
        return errors
    errors += [required(_SPEC.child("service", each)) for each in ("namespace", "name") if not service.get(each)]
    if problems := names.port_number(service["port"]):
        detail = f"port is not valid: {', '.join(problems)}"
        errors.append(invalid(_SPEC.child("service", "port"), service["port"], detail))
    if insecure and bundle:
        errors.append(invalid(skip, True, "may not be true if caBundle is present"))
    return errors


def _local(call: Call) -> dict[str, Any]:
    return {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": call.backend.now(),
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


_SERVICE: Final = APIServiceStrategy()

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource("apiregistration.k8s.io", "apiservices"): Kind(
        _SERVICE, {"status": APIServiceStatusStrategy(_SERVICE)}
    ),
}
