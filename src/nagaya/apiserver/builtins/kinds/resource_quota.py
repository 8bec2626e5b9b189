"""ResourceQuotas: how much a namespace may use in all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import core_metadata, core_resources
from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape, shape
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy
from nagaya.apiserver.meta import quantity
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_POD_RESOURCES: Final = frozenset(
    {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
)
# Which of the resources that quotas know a scope can be about.
_SCOPES: Final[Mapping[str, frozenset[str]]] = {
    "Terminating": _POD_RESOURCES,
    "NotTerminating": _POD_RESOURCES,
    "BestEffort": frozenset({"pods"}),
    "NotBestEffort": _POD_RESOURCES,
    "PriorityClass": _POD_RESOURCES,
    "CrossNamespacePodAffinity": _POD_RESOURCES,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_EXISTENCE_ONLY: Final = _SCOPES.keys() - {"PriorityClass", "VolumeAttributesClass"}
_CONFLICTS: Final = (frozenset({"BestEffort", "NotBestEffort"}), frozenset({"Terminating", "NotTerminating"}))
_EXISTS: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_MOST_REPORTED: Final = 1000
_SELECTOR: Final = shape(
    "MatchExpressions=matchExpressions:[ScopeName=scopeName:s Operator=operator:s Values=values:p]"
)


class ResourceQuotaStrategy(CoreStrategy):
    """ResourceQuota."""

    returns_deleted = True
    reset_fields = ("status",)

    def default(self, obj: JsonObject) -> None:
        """Amounts are whole thousandths."""
        core_resources.round_up(obj["spec"].get("hard"))
        core_resources.round_up(obj["status"].get("hard"))
        core_resources.round_up(obj["status"].get("used"))

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """What is used is counted later."""
        obj["status"] = {}

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status changes elsewhere."""
        new["status"] = old["status"]

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Known resources, amounts that fit them, and scopes that fit the resources."""
        return _spec_errors(obj["spec"])

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for the spec; scopes stay."""
        errors = core_metadata.updated(new["metadata"], old["metadata"], found) + _spec_errors(new["spec"])
        scopes: list[str] = new["spec"].get("scopes") or []
        if set(scopes) != set(old["spec"].get("scopes") or ()):
            errors.append(invalid("spec.scopes", scopes or None, IMMUTABLE))
        return errors

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Requests that are greater than limits."""
        hard: Mapping[str, str] = obj["spec"].get("hard") or {}
        warnings = []
        for name in ("cpu", "memory", "storage", "ephemeral-storage"):
            request, limit = f"requests.{name}", f"limits.{name}"
            if request not in hard and name in ("cpu", "memory"):
                request = name
            if request in hard and limit in hard and quantity.parse(hard[request]) > quantity.parse(hard[limit]):
                warnings.append(
                    f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"
                )
        return warnings


class ResourceQuotaStatusStrategy(CoreStatusStrategy):
    """`/status` of a quota."""

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Known resources and amounts that fit them."""
        status = new["status"]
        return _amount_errors(status, "hard", _STATUS) + _amount_errors(status, "used", _STATUS)


def _amount_errors(part: JsonObject, member: str, where: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, text in (part.get(member) or {}).items():
        place = where.child(member).key(name)
        errors += core_resources.validate_quota_name(name, place)
        errors += core_resources.validate_amount(name, text, place)
    return errors


def _spec_errors(spec: JsonObject) -> list[FieldError]:
    return _amount_errors(spec, "hard", _SPEC) + _scope_errors(spec) + _selector_errors(spec)


def _misfits(scope: str, hard: Mapping[str, str]) -> int:
    """How many of the limited resources a scope is not about."""
    allowed = _SCOPES.get(scope)
    if allowed is None:
        return 0
    return sum(core_resources.is_standard_quota(name) and name not in allowed for name in hard)


def _all_misfits(scopes: Sequence[str], spec: JsonObject) -> Mapping[str, int]:
    """For each scope, how often it is reported to be about none of the limited resources."""
    most = max(1, _MOST_REPORTED // max(1, len(scopes)))
    return {scope: min(most, _misfits(scope, spec.get("hard") or {})) for scope in set(scopes)}


def _scope_errors(spec: JsonObject) -> list[FieldError]:
    scopes: list[str] = spec.get("scopes") or []
    where = _SPEC.child("scopes")
    errors: list[FieldError] = []
    misfit = invalid(where, scopes, "unsupported scope applied to resource")
    misfits = _all_misfits(scopes, spec)
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid(where, scopes, "unsupported scope"))
        errors += [misfit] * misfits[scope]
    return errors + [invalid(where, scopes, "conflicting scopes") for pair in _CONFLICTS if pair <= set(scopes)]


def _selector_errors(spec: JsonObject) -> list[FieldError]:
    selector = spec.get("scopeSelector")
    if selector is None:
        return []
    where = _SPEC.child("scopeSelector", "matchExpressions")
    errors: list[FieldError] = []
    scopes = set()
    expressions = selector.get("matchExpressions") or ()
    misfits = _all_misfits([each.get("scopeName") or "" for each in expressions], spec)
    if any(misfits.values()):
        misfit = invalid_shape(where, _SELECTOR, selector, "unsupported scope applied to resource")
    for expression in expressions:
        scope = expression.get("scopeName") or ""
        if scope not in _SCOPES:
            errors.append(invalid(where.child("scopeName"), scope, "unsupported scope"))
        if misfits[scope]:
            errors += [misfit] * misfits[scope]
        errors += _operator_errors(expression, where)
        scopes.add(scope)
    given = spec.get("scopes")  # the real server shows the spec's scopes here, not the selector's
    return errors + [invalid(where, given, "conflicting scopes") for pair in _CONFLICTS if pair <= scopes]


def _operator_errors(expression: JsonObject, where: Path) -> list[FieldError]:
    operator, values = expression.get("operator") or "", expression.get("values") or []
    errors: list[FieldError] = []
    if expression.get("scopeName") in _EXISTENCE_ONLY and operator != "Exists":
        errors.append(invalid(where.child("operator"), operator, _EXISTS))
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(required(where.child("values"), detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(invalid(where.child("values"), values, detail))
    else:
        errors.append(invalid(where.child("operator"), operator, "not a valid selector operator"))
    return errors
