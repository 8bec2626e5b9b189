"""CSI drivers: how Kubernetes has to treat the volumes of a driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step, immutable
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, invalid, not_supported
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_SPEC: Final = Path("spec")
_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES: Final = ("Persistent", "Ephemeral")
_SHORTEST_PERIOD: Final = 10
_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 1 << 32
# Volume limits do not keep pods from a node by default, so the member that says so is not kept.
_OFF: Final = "preventPodSchedulingIfMissing"
_TOKENS_IN_ATTRIBUTES: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


class CSIDriverStrategy(OrderedStrategy):
    """CSIDriver."""

    allow_unconditional_update = False
    returns_deleted = True
    update_steps = (Step.METADATA_CHANGES, Step.RULES, Step.CHANGES)

    def default(self, obj: JsonObject) -> None:
        """A driver attaches volumes for good, and knows nothing of pods."""
        spec = obj["spec"]
        spec.setdefault("attachRequired", True)
        spec.setdefault("podInfoOnMount", False)
        spec.setdefault("storageCapacity", False)
        spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]
        spec.setdefault("requiresRepublish", False)
        spec.setdefault("seLinuxMount", False)

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Drop what is not enabled."""
        obj["spec"].pop(_OFF, None)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Drop what is not enabled, and count a change. A new driver has no generation yet."""
        if _OFF not in old["spec"]:
            new["spec"].pop(_OFF, None)
        if new["spec"] != old["spec"]:
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Whether volumes are attached, and how long they live, stays."""
        mine, before = new["spec"], old["spec"]
        modes = "volumeLifecycleModes"
        return [
            *immutable(_SPEC.child("attachedRequired"), mine["attachRequired"], before["attachRequired"]),
            *immutable(_SPEC.child(modes), mine[modes], before[modes]),
        ]

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Known words, and tokens that live neither too short nor too long."""
        spec = obj["spec"]
        errors: list[FieldError] = []
        if spec["fsGroupPolicy"] not in _GROUP_POLICIES:
            errors.append(not_supported(_SPEC.child("fsGroupPolicy"), spec["fsGroupPolicy"], _GROUP_POLICIES))
        errors += _token_errors(spec.get("tokenRequests") or ())
        where = _SPEC.child("volumeLifecycleModes")
        errors += [
            not_supported(where, mode, _LIFECYCLE_MODES)
            for mode in spec["volumeLifecycleModes"]
            if mode not in _LIFECYCLE_MODES
        ]
        period = spec.get("nodeAllocatableUpdatePeriodSeconds")
        if period is not None and period < _SHORTEST_PERIOD:
            detail = "must be greater than or equal to 10 seconds"
            errors.append(invalid(_SPEC.child("nodeAllocatableUpdatePeriodSeconds"), period, detail))
        in_secrets = spec.get("serviceAccountTokenInSecrets")
        if in_secrets is not None and not spec.get("tokenRequests"):
            detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
            errors.append(invalid(_SPEC.child("serviceAccountTokenInSecrets"), in_secrets, detail))
        return errors

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Tokens that may end up in logs."""
        spec = obj["spec"]
        loose = spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None
        return [_TOKENS_IN_ATTRIBUTES] if loose else []

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same, if the tokens change."""
        if new["spec"].get("tokenRequests") == old["spec"].get("tokenRequests"):
            return []
        return self.warn_create(new, call)


def _token_errors(requests: Sequence[JsonObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, request in enumerate(requests):
        where = _SPEC.child("tokenRequests").index(position)
        if request["audience"] in seen:
            errors.append(duplicate(where.child("audience"), request["audience"]))
            continue
        seen.add(request["audience"])
        seconds = request.get("expirationSeconds")
        if seconds is None:
            continue
        place = where.child("expirationSeconds")
        if seconds < _SHORTEST_TOKEN:
            errors.append(invalid(place, seconds, "may not specify a duration less than 10 minutes"))
        if seconds > _LONGEST_TOKEN:
            errors.append(invalid(place, seconds, "may not specify a duration larger than 2^32 seconds"))
    return errors
