"""The IP families of a service, worked out from what its user says and what the cluster has.

This cluster has one family, IPv4. A service that wants two gets one, unless it insists, which is refused. Headless
services without a selector are different: nothing is allocated for them, so they may name what they like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import service_forms as forms
from nagaya.apiserver.builtins.kinds.service_validation import cluster_ip_errors, family_of
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.gvk import GroupKind
from nagaya.apiserver.meta.status import JsonObject

SERVICE: Final = GroupKind("", "Service")
CONFIGURED: Final = (forms.IPV4,)
_POLICY: Final = Path("spec.ipFamilyPolicy")
_OTHER: Final = {forms.IPV4: forms.IPV6, forms.IPV6: forms.IPV4}


def settle(service: JsonObject, old: JsonObject | None) -> None:
    """Fill in policy and families, in place. Raises 422 if they contradict each other or the cluster."""
    spec, before = service["spec"], old["spec"] if old else None
    if forms.kind(spec) == forms.EXTERNAL_NAME or (before is not None and stays_dual(spec, before)):
        return
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = _default_policy(spec, before)
    _refuse(service, cluster_ip_errors(spec, before))
    errors = _shrink(spec, before) if before is not None else []
    errors += _count_errors(spec)
    errors += _infer(spec)
    _refuse(service, errors)
    if spec.get("clusterIP") == forms.NONE and not spec.get("selector"):
        families = forms.families(spec) or [CONFIGURED[0]]
        if len(families) < 2 and spec["ipFamilyPolicy"] != forms.SINGLE:
            families = [families[0], _OTHER.get(families[0], forms.IPV4)]
        spec["ipFamilies"] = families
        return
    _refuse(service, _unconfigured(spec))
    spec["ipFamilies"] = forms.families(spec) or [CONFIGURED[0]]


def stays_dual(spec: JsonObject, before: JsonObject) -> bool:
    """Whether a service that would like two families asks for nothing new, and so is left as it is."""
    prefers = (forms.PREFER_DUAL,)
    return (
        forms.kind(spec) == forms.kind(before)
        and forms.kind(spec) in (forms.CLUSTER_IP, forms.NODE_PORT, forms.LOAD_BALANCER)
        and spec.get("ipFamilyPolicy") in prefers
        and before.get("ipFamilyPolicy") in (*prefers, None)
        and forms.ips(spec) == forms.ips(before)
        and forms.families(spec) == forms.families(before)
    )


def _default_policy(spec: JsonObject, before: JsonObject | None) -> str:
    if before is not None and before.get("ipFamilyPolicy") is not None:
        policy: str = before["ipFamilyPolicy"]
        return policy
    if spec.get("clusterIP") == forms.NONE and not spec.get("selector"):
        return forms.REQUIRE_DUAL
    return forms.SINGLE


def _shrink(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """Going back to one family has to be said, and is then done in all fields."""
    if spec["ipFamilyPolicy"] == forms.SINGLE:
        for member in ("clusterIPs", "ipFamilies"):
            values = spec.get(member) or []
            if len(values) > 1 and values == (before.get(member) or []):
                spec[member] = values[:1]
        return []
    return [
        invalid(_POLICY, spec["ipFamilyPolicy"], f"must be 'SingleStack' to release the secondary {what}")
        for member, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family"))
        if 0 < len(spec.get(member) or ()) < len(before.get(member) or ())
    ]


def _count_errors(spec: JsonObject) -> list[FieldError]:
    if spec["ipFamilyPolicy"] != forms.SINGLE:
        return []
    detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    return [
        invalid(_POLICY, forms.SINGLE, detail.format(what))
        for values, what in ((forms.ips(spec), "cluster IPs"), (forms.families(spec), "IP families"))
        if len(values) == 2
    ]


def _infer(spec: JsonObject) -> list[FieldError]:
    """Families follow from addresses."""
    errors = []
    families = list(forms.families(spec))
    for position, ip in enumerate(forms.ips(spec)):
        if ip == forms.NONE:
            break
        if position >= len(families):
            family = family_of(ip)
            if family in CONFIGURED:
                families.append(family)
            else:
                where = Path("spec.clusterIPs").index(position)
                errors.append(invalid(where, forms.ips(spec), f"{family} is not configured on this cluster"))
    if families:
        spec["ipFamilies"] = families
    return errors


def _unconfigured(spec: JsonObject) -> list[FieldError]:
    errors = []
    if spec["ipFamilyPolicy"] == forms.REQUIRE_DUAL and len(CONFIGURED) < 2:
        detail = "this cluster is not configured for dual-stack services"
        errors.append(invalid(_POLICY, forms.REQUIRE_DUAL, detail))
    where = Path("spec.ipFamilies")
    return errors + [
        invalid(where.index(position), family, "not configured on this cluster")
        for position, family in enumerate(forms.families(spec))
        if family not in CONFIGURED
    ]


def _refuse(service: JsonObject, errors: Sequence[FieldError]) -> None:
    if errors:
        raise status.invalid(SERVICE, service["metadata"].get("name") or "", list(errors))
