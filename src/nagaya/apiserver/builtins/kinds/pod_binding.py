"""Giving a pod a node, once."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.field_errors import FieldError, not_supported, required
from nagaya.apiserver.meta.gostring import quote
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.create import admission_write
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.registry.storing import rewrite
from nagaya.apiserver.registry.system_metadata import metadata_of
from nagaya.apiserver.storage import Record
from nagaya.apiserver.web.options import WriteOptions

_PODS: Final = GroupResource("", "pods")
_BINDING: Final = GroupResource("", "pods/binding")


async def bind(call: Call, name: str, binding: JsonObject, asked: WriteOptions) -> None:
    """Write the node into the pod. Raises ApiError."""
    metadata = metadata_of(binding)
    if name != (metadata.get("name") or ""):
        raise status.bad_request("name in URL does not match name in Binding object")
    if errors := _problems(binding.get("target") or {}):
        raise ApiError(500, "", status.aggregate([str(error) for error in errors]))
    await call.backend.admission.validate(admission_write(call, binding, asked))
    await _assign(call, name, binding, dry_run=asked.dry_run)


def _problems(target: JsonObject) -> list[FieldError]:
    errors = []
    if target.get("kind") not in (None, "", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


async def _assign(call: Call, name: str, binding: JsonObject, *, dry_run: bool) -> None:
    resource = call.backend.catalog.preferred(_PODS)
    assert resource is not None, "pods are always served"
    key = resource.key(call.namespace, name)
    while True:
        record = call.backend.store.get(resource.table, key)
        if record is None:
            raise status.not_found(_PODS, name)
        pod = await resource.load(record)
        _check_preconditions(pod, binding["metadata"], f"/registry/{resource.table}/{key}")
        _check_free(pod)
        if dry_run or await _store(call, resource, record, _bound(pod, binding, call.backend.now())):
            return


async def _store(call: Call, resource: Resource, record: Record, pod: JsonObject) -> bool:
    """Write the pod as it is. False if it has changed meanwhile."""
    return await rewrite(call.backend, resource, record, await resource.codec.encode(pod)) is not None


def _check_preconditions(pod: JsonObject, meant: JsonObject, place: str) -> None:
    for title, field in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
        wanted, found = meant.get(field), pod["metadata"][field]
        if wanted and wanted != found:
            why = f"Precondition failed: {title} in precondition: {wanted}, {title} in object meta: {found}"
            detail = f"Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
            raise status.conflict(_PODS, pod["metadata"]["name"], f"StorageError: invalid object, {detail}")


def _check_free(pod: JsonObject) -> None:
    name, spec = pod["metadata"]["name"], pod["spec"]
    why = ""
    if pod["metadata"].get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif node := spec.get("nodeName"):
        why = f"pod {name} is already assigned to node {quote(node)}"
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise status.conflict(_BINDING, name, why)


def _bound(pod: JsonObject, binding: JsonObject, now: str) -> JsonObject:
    meant, metadata = binding["metadata"], {**pod["metadata"]}
    for field in ("annotations", "labels"):
        if meant.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **meant[field]}
    seen = {name: value for name, value in (pod.get("status") or {}).items() if name != "nominatedNodeName"}
    condition = {"type": "PodScheduled", "status": "True"}
    seen["conditions"] = with_condition(seen.get("conditions") or [], condition, now)
    spec = {**pod["spec"], "nodeName": binding["target"]["name"]}
    return {**pod, "metadata": metadata, "spec": spec, "status": seen}


def with_condition(conditions: list[JsonObject], condition: JsonObject, now: str) -> list[JsonObject]:
    """Conditions with one of them as given; it keeps its time if it is as it was."""
    known = next((each for each in conditions if each.get("type") == condition["type"]), None)
    turned = known is None or known.get("status") != condition["status"]
    when = now if turned or known is None else known.get("lastTransitionTime")
    mine = {"lastProbeTime": None, "lastTransitionTime": when, **condition}
    if known is None:
        return [*conditions, mine]
    return [mine if each is known else each for each in conditions]
