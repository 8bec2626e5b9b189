"""What may not change in a service: the addresses that others know it by."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds import service_forms as forms
from nagaya.apiserver.builtins.kinds.service_validation import load_balancer_class_errors
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")
_IPS: Final = _SPEC.child("clusterIPs")
_FAMILIES: Final = _SPEC.child("ipFamilies")
_POLICY: Final = _SPEC.child("ipFamilyPolicy")
_CHANGED: Final = "may not change once set"


def changes(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What an update of a service's spec tries to change that may not."""
    errors: list[FieldError] = []
    if forms.needs_cluster_ip(new) and forms.needs_cluster_ip(old):
        if not (forms.is_headless(new) and forms.is_headless(old)):
            errors += _ip_errors(new, old)
        if not forms.is_headless(new) and not forms.is_headless(old):
            errors += _family_errors(new, old)
    if forms.kind(new) == forms.kind(old) == forms.LOAD_BALANCER:
        mine = new.get("loadBalancerClass")
        if mine != old.get("loadBalancerClass"):
            errors.append(invalid(_SPEC.child("loadBalancerClass"), mine, _CHANGED))
    errors += load_balancer_class_errors(new)
    if not forms.needs_health_check(new) or not forms.needs_health_check(old):
        return errors
    if new.get("healthCheckNodePort") == old.get("healthCheckNodePort"):
        return errors
    return [*errors, forbidden(_SPEC.child("healthCheckNodePort"), "field is immutable")]


def _ip_errors(new: JsonObject, old: JsonObject) -> list[FieldError]:
    mine, before = forms.ips(new), forms.ips(old)
    if len(mine) == len(before):
        places = (position for position, ip in enumerate(before) if ip != mine[position])
        return [invalid(_IPS.index(place), mine, _CHANGED) for place in places]
    errors: list[FieldError] = []
    if not mine:
        errors.append(invalid(_IPS.index(0), None, "primary clusterIP can not be unset"))
    if mine and before and mine[0] != before[0]:
        errors.append(invalid(_IPS.index(0), mine, _CHANGED))
    if len(before) > len(mine) == 1:
        errors += _not_single(new, "clusterIP")
    return errors


def _family_errors(new: JsonObject, old: JsonObject) -> list[FieldError]:
    mine, before = forms.families(new), forms.families(old)
    where = _FAMILIES.index(0)
    if len(mine) == len(before):
        changed = sum(family != mine[position] for position, family in enumerate(before))
        return [invalid(where, mine, _CHANGED)] * changed
    errors: list[FieldError] = []
    if len(before) > len(mine) and not forms.ips(new):
        errors.append(invalid(where, mine or None, "primary ipFamily can not be unset"))
    if mine and before and mine[0] != before[0]:
        errors.append(invalid(where, forms.ips(new), _CHANGED))
    if len(before) > len(mine) == 1:
        errors += _not_single(new, "ipFamily")
    return errors


def _not_single(new: JsonObject, what: str) -> list[FieldError]:
    policy = new.get("ipFamilyPolicy")
    if policy == forms.SINGLE:
        return []
    return [invalid(_POLICY, policy, f"must be set to 'SingleStack' when releasing the secondary {what}")]
