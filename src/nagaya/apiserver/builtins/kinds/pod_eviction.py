"""Asking a pod to go, which its disruption budget may refuse for now.

A pod that does no work yet or no more goes without asking. For others the budget is charged first and the pod deleted
then: should the deletion fail, the budget's controller notices that the pod stays and gives the charge back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from nagaya.apiserver.admission.chain import Admission
from nagaya.apiserver.builtins.decode import decode_options
from nagaya.apiserver.builtins.kinds.pod_binding import with_condition
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.field_errors import invalid
from nagaya.apiserver.meta.gvk import GroupKind, GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.create import admission_write
from nagaya.apiserver.registry.delete import delete
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.registry.system_metadata import metadata_of
from nagaya.apiserver.registry.update import Copy, update
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.requirement import SelectorError
from nagaya.apiserver.web.options import DeleteOptions, WriteOptions, delete_options

_PODS: Final = GroupResource("", "pods")
_BUDGETS: Final = GroupResource("policy", "poddisruptionbudgets")
_ABOUT: Final = GroupResource("policy", "poddisruptionbudget")
_ATTEMPTS: Final = 20
_MOST_DISRUPTED: Final = 2000
_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_IGNORE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"


async def evict(call: Call, name: str, eviction: JsonObject, asked: WriteOptions) -> None:
    """Delete the pod if its budget allows. Raises ApiError."""
    if name != (metadata_of(eviction).get("name") or ""):
        raise status.bad_request("name in URL does not match name in Eviction object")
    given = eviction.get("deleteOptions")
    if (given or {}).get(_IGNORE):
        detail = "can not be set for pod eviction, try after removing the option"
        error = invalid(f"deleteOptions.{_IGNORE}", True, detail)
        raise status.invalid(GroupKind("policy", "Eviction"), name, [error])
    wish = delete_options(decode_options("DeleteOptions", given or {}))
    if asked.dry_run:
        wish = replace(wish, dry_run=True, body={**wish.body, "dryRun": ["All"]})
    await call.backend.admission.validate(admission_write(call, eviction, asked))
    # What follows is the server's own doing: the eviction has been admitted, the deletion is not asked about again.
    mine = replace(call, backend=replace(call.backend, admission=Admission()), subresource=None)
    pod = await _delete_idle(mine, name, wish)
    if pod is not None:
        await _delete_working(mine, pod, wish)


def _resource(call: Call) -> Resource:
    resource = call.backend.catalog.preferred(_PODS)
    assert resource is not None, "pods are always served"
    return resource


async def _load(call: Call, name: str) -> JsonObject:
    resource = _resource(call)
    record = call.backend.store.get(resource.table, resource.key(call.namespace, name))
    if record is None:
        raise status.not_found(_PODS, name)
    return await resource.load(record)


async def _delete_idle(call: Call, name: str, wish: DeleteOptions) -> JsonObject | None:
    """Delete a pod that no budget counts. Returns one that a budget may count."""
    attempt = 0
    while True:
        attempt += 1
        pod = await _load(call, name)
        phase = (pod.get("status") or {}).get("phase")
        leaving = bool(pod["metadata"].get("deletionTimestamp"))
        if phase not in ("Succeeded", "Failed", "Pending") and not leaving:
            return pod
        mine = wish
        if phase == "Pending" and not leaving and wish.resource_version is None:
            # It might begin to work meanwhile.
            mine = replace(wish, resource_version=pod["metadata"]["resourceVersion"])
        try:
            await _mark_and_delete(call, name, mine)
        except ApiError as error:
            if error.reason != "Conflict" or wish.resource_version is not None or attempt == _ATTEMPTS:
                raise
        else:
            return None


async def _delete_working(call: Call, pod: JsonObject, wish: DeleteOptions) -> None:
    name = pod["metadata"]["name"]
    budgets = _budgets(call, pod)
    if len(budgets) > 1:
        problem = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "", problem)
    unhealthy = bool(budgets) and not _is_ready(pod) and _spares_unhealthy(budgets[0])
    if budgets and not unhealthy:
        await _charge(call, name, budgets[0], dry_run=wish.dry_run)
    mine = replace(wish, resource_version=pod["metadata"]["resourceVersion"]) if unhealthy else wish
    try:
        await _mark_and_delete(call, name, mine)
    except ApiError as error:
        if error.reason == "Conflict" and unhealthy and wish.resource_version is None:
            raise _still_processed(budgets[0]) from None
        raise


def _budgets(call: Call, pod: JsonObject) -> list[JsonObject]:
    labels = pod["metadata"].get("labels") or {}
    found = []
    for record in Internal(call.backend, "kube-apiserver").records(_BUDGETS, call.namespace):
        budget = record.object()
        try:
            selector = label_selector.compiled((budget.get("spec") or {}).get("selector"))
        except SelectorError:
            continue
        if selector.matches(labels):
            found.append(budget)
    return found


def _is_ready(pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _spares_unhealthy(budget: JsonObject) -> bool:
    """Whether a pod that is not ready may go without a charge."""
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    seen = budget.get("status") or {}
    desired = seen.get("desiredHealthy") or 0
    return desired > 0 and (seen.get("currentHealthy") or 0) >= desired


async def _charge(call: Call, pod: str, budget: JsonObject, *, dry_run: bool) -> None:
    """Take one from what a budget allows, and write down for whom."""
    name, now = budget["metadata"]["name"], call.backend.now()
    if dry_run:
        _check(budget)
        return

    def take(current: JsonObject) -> JsonObject:
        _check(current)
        seen = {**current["status"]}
        seen["disruptionsAllowed"] -= 1
        if seen["disruptionsAllowed"] == 0:
            seen["conditions"] = _exhausted(seen, now)
        seen["disruptedPods"] = {**(seen.get("disruptedPods") or {}), pod: now}
        return {**current, "status": seen}

    charged = await Internal(call.backend, "kube-apiserver").change(
        _BUDGETS, call.namespace, name, take, subresource="status"
    )
    if charged is None:
        raise status.not_found(_BUDGETS, name)


def _exhausted(seen: JsonObject, now: str) -> list[JsonObject]:
    conditions = seen.get("conditions") or []
    known: JsonObject = next((each for each in conditions if each.get("type") == "DisruptionAllowed"), {})
    mine = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": seen.get("observedGeneration") or 0,
        "lastTransitionTime": known.get("lastTransitionTime") if known.get("status") == "False" else now,
        "reason": "InsufficientPods",
        "message": "",
    }
    if not known:
        return [*conditions, mine]
    return [mine if each is known else each for each in conditions]


def _check(budget: JsonObject) -> None:
    """Raises ApiError unless a budget allows one more pod to go."""
    name, seen = budget["metadata"]["name"], budget.get("status") or {}
    allowed = seen.get("disruptionsAllowed") or 0
    if (seen.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        raise _still_processed(budget)
    if allowed < 0:
        raise status.forbidden(_ABOUT, name, "pdb disruptions allowed is negative")
    if len(seen.get("disruptedPods") or ()) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise status.forbidden(_ABOUT, name, why)
    if allowed == 0:
        raise status.too_many_requests(_REFUSED, 0, [{"reason": "DisruptionBudget", "message": _reason(name, seen)}])


def _reason(name: str, seen: JsonObject) -> str:
    conditions = seen.get("conditions") or ()
    condition: JsonObject = next((each for each in conditions if each.get("type") == "DisruptionAllowed"), {})
    message = condition.get("message") if condition.get("status") == "False" else ""
    refusal = f"The disruption budget {name} does not allow evicting pods currently"
    current, desired = seen.get("currentHealthy") or 0, seen.get("desiredHealthy") or 0
    if message and condition.get("reason") == "SyncFailed":
        return f"{refusal} because it failed sync: {message}"
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    return f"{refusal} ({condition.get('reason')}): {message}" if message else refusal


def _still_processed(budget: JsonObject) -> ApiError:
    problem = f"The disruption budget {budget['metadata']['name']} is still being processed by the server."
    return status.too_many_requests(_REFUSED, 10, [{"reason": "DisruptionBudget", "message": problem}])


async def _mark_and_delete(call: Call, name: str, wish: DeleteOptions) -> None:
    """Say in the pod's status why it goes, then delete it."""
    resource = _resource(call)
    mine = replace(call, resource=resource, subresource=resource.subresources["status"], dry_run=wish.dry_run)
    if not wish.dry_run:
        wish = await _mark(mine, wish)
    await delete(call.backend, replace(mine, subresource=None), name, wish)


async def _mark(call: Call, wish: DeleteOptions) -> DeleteOptions:
    async def produce(live: JsonObject | None, copy: Copy) -> JsonObject:
        assert live is not None
        _check_preconditions(live, wish)
        pod = await copy()
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        seen = pod.setdefault("status", {})
        seen["conditions"] = with_condition(seen.get("conditions") or [], condition, call.backend.now())
        return pod

    outcome = await update(call.backend, call, produce, WriteOptions("UpdateOptions"))
    if wish.resource_version is None:
        return wish
    return replace(wish, resource_version=(await outcome.load())["metadata"]["resourceVersion"])


def _check_preconditions(pod: JsonObject, wish: DeleteOptions) -> None:
    metadata, about = pod["metadata"], GroupResource("", "Pod")
    if wish.uid and wish.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({wish.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict(about, metadata["name"], why)
    if wish.resource_version and wish.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({wish.resource_version}) does not match the ResourceVersion "
            f"in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise status.conflict(about, metadata["name"], why)
