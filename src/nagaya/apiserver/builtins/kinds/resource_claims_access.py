"""Who may write which part of a claim's status.

Leave to write the status is not enough: allocating takes leave for `resourceclaims/binding`, and writing about the
devices of a driver takes leave for `resourceclaims/driver` of that driver's name. A driver that runs on the node of the
claim may ask for less than one that runs anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from nagaya.apiserver.authn.user import NODE_NAME
from nagaya.apiserver.authz.attributes import Attributes, of_request
from nagaya.apiserver.authz.refusal import forbidden as refusal
from nagaya.apiserver.builtins.kinds.resource_claims import admin_errors
from nagaya.apiserver.builtins.kinds.resource_claims_status import device_id
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_STATUS: Final = Path("status")
_ALLOCATION: Final = _STATUS.child("allocation")
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


def errors(new: JsonObject, old: JsonObject, call: Call) -> list[FieldError]:
    """What the one who asks may not write."""
    status, before = new["status"], old.get("status") or {}
    found = _admin_errors(status, before, new["metadata"].get("namespace") or "", call)
    attributes = of_request(call.user, call.info)
    if any(status.get(member) != before.get(member) for member in ("allocation", "reservedFor")):
        found += _binding_errors(attributes, call)
    if status.get("allocation") is not None:
        found += _driver_errors(status, before, attributes, call)
    return found


def _results(status: JsonObject) -> list[JsonObject]:
    return ((status.get("allocation") or {}).get("devices") or {}).get("results") or []


def _admin_errors(status: JsonObject, before: JsonObject, namespace: str, call: Call) -> list[FieldError]:
    if any(result.get("adminAccess") for result in _results(before)):
        return []
    for position, result in enumerate(_results(status)):
        if result.get("adminAccess"):
            where = _ALLOCATION.child("devices", "results").index(position).child("adminAccess")
            return admin_errors(call, namespace, where)
    return []


def _refused(attributes: Attributes, call: Call) -> str:
    decision = call.backend.authorizer.authorize(attributes)
    return "" if decision.allowed else refusal(attributes, decision.reason).message


def _binding_errors(attributes: Attributes, call: Call) -> list[FieldError]:
    refused = _refused(replace(attributes, subresource="binding", namespace="", name=""), call)
    if not refused:
        return []
    needs = f'requires resource="resourceclaims/binding", verb="{attributes.verb}" permission'
    return [forbidden(_ALLOCATION, f"changing status.allocation or status.reservedFor {needs}: {refused}")]


def _driver_errors(status: JsonObject, before: JsonObject, attributes: Attributes, call: Call) -> list[FieldError]:
    drivers = _changed_drivers(status.get("devices") or (), before.get("devices") or ())
    if not drivers:
        return []
    verbs = [f"arbitrary-node:{attributes.verb}"]
    if _is_on_node(call, status["allocation"]):
        verbs.insert(0, f"associated-node:{attributes.verb}")
    found: list[FieldError] = []
    for driver in sorted(drivers):
        asked = [replace(attributes, verb=verb, subresource="driver", name=driver) for verb in verbs]
        refusals = [_refused(each, call) for each in asked]
        if all(refusals):
            needs = f'requires resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission'
            found.append(forbidden(_STATUS.child("devices"), f"changing status.devices {needs}: {refusals[0]}"))
    return found


def _changed_drivers(devices: Sequence[JsonObject], before: Sequence[JsonObject]) -> set[str]:
    mine, old = ({device_id(device): device for device in each} for each in (devices, before))
    return {key[0] for key in mine.keys() | old.keys() if mine.get(key) != old.get(key)}


def _is_on_node(call: Call, allocation: JsonObject) -> bool:
    """Whether a service account asks from the one node that the claim is for."""
    node = _node(allocation)
    if not node or not call.user.name.startswith(_SERVICE_ACCOUNT):
        return False
    return tuple(call.user.extra.get(NODE_NAME) or ()) == (node,) and not names.name_is_subdomain(node)


def _node(allocation: JsonObject) -> str:
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions") or len(terms[0].get("matchFields") or ()) != 1:
        return ""
    field = terms[0]["matchFields"][0]
    values: list[str] = field.get("values") or []
    if field.get("key") != "metadata.name" or field.get("operator") != "In" or len(values) != 1:
        return ""
    return values[0]
