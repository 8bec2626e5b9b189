"""Deleting an object, at once or in steps.

An object without finalizers goes at once. One with finalizers is marked (`deletionTimestamp`) and goes when the last
finalizer is taken off it by an update. What is to become of dependents is written down as a finalizer too (`orphan`,
`foregroundDeletion`), which the garbage collector works off. Kinds with a grace period (pods) stay until it is over or
their keeper confirms with a grace period of zero.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from nagaya.apiserver.admission.attributes import Attributes, Operation
from nagaya.apiserver.meta import status, times
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.object_meta import FOREGROUND, ORPHAN
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.outcome import Outcome
from nagaya.apiserver.registry.storing import rewrite
from nagaya.apiserver.registry.strategy import Dependents, Strategy
from nagaya.apiserver.registry.update import remove
from nagaya.apiserver.storage import Record
from nagaya.apiserver.web.options import DeleteOptions

_LONGEST_GRACE: Final = (2**63 - 1) // 10**9
"""Seconds, 292 years: what Go can add to a date. Clients may ask for more."""


async def delete(
    backend: Backend, call: Call, name: str, options: DeleteOptions, namespace: str | None = None
) -> Outcome:
    """Delete the named object. `namespace` is given when the request's URL does not say it (deletecollection)."""
    resource = call.resource
    for warning in resource.strategy.warn_delete(options):
        call.warn(warning)
    key = resource.key(call.namespace if namespace is None else namespace, name)
    while True:
        record = backend.store.get(resource.table, key)
        if record is None:
            raise status.not_found(resource.group_resource, name)
        obj = await resource.load(record)
        _check_preconditions(call, obj, options)
        outcome = await _delete_once(backend, call, record, obj, name, options)
        if outcome is not None:
            return outcome


def _check_preconditions(call: Call, obj: JsonObject, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    about = GroupResource(call.resource.gvr.group, call.resource.kind)
    if call.resource.strategy.store_checks_preconditions:
        _check_in_store(call, metadata, options)
        return
    if options.uid is not None and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict(about, metadata["name"], why)
    if options.resource_version is not None and options.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise status.conflict(about, metadata["name"], why)


def _check_in_store(call: Call, metadata: JsonObject, options: DeleteOptions) -> None:
    for what, given, found in (
        ("UID", options.uid, metadata["uid"]),
        ("ResourceVersion", options.resource_version, metadata["resourceVersion"]),
    ):
        if given is not None and given != found:
            why = f"Precondition failed: {what} in precondition: {given}, {what} in object meta: {found}"
            raise status.conflict(call.resource.group_resource, metadata["name"], why)


async def _delete_once(
    backend: Backend, call: Call, record: Record, obj: JsonObject, name: str, options: DeleteOptions
) -> Outcome | None:
    """One try from the state in `record`. None if that state has passed."""
    resource = call.resource
    strategy = resource.strategy
    await _admit(backend, call, obj, name, options)
    marked = {**obj, "metadata": {**obj["metadata"]}}
    metadata = marked["metadata"]
    now = backend.world.clock.now()
    if strategy.mark_deleted(marked, options, times.of(now)):
        if options.dry_run:
            return Outcome(resource, object=marked)
        written = await _write(backend, call, record, marked)
        return None if written is None else Outcome(resource, record=written)
    graceful, already = _begin_grace(marked, options, strategy, now)
    if already:
        return Outcome(resource, record=record)
    _set_finalizers(metadata, options, strategy)
    if not graceful and metadata.get("finalizers"):
        _mark_deleting(metadata, now)
    if not graceful and not metadata.get("finalizers"):
        return await remove(backend, call, record, obj, dry_run=options.dry_run)
    if options.dry_run:
        return Outcome(resource, object=marked)
    written = await _write(backend, call, record, marked)
    if written is None or metadata.get("finalizers") or metadata["deletionGracePeriodSeconds"] > 0:
        return None if written is None else Outcome(resource, record=written)
    # The grace period is zero and nothing else keeps the object.
    return await remove(backend, call, written, marked, dry_run=False)


async def _admit(backend: Backend, call: Call, obj: JsonObject, name: str, options: DeleteOptions) -> None:
    kind = call.subresource.kind if call.subresource else call.resource.gvk
    namespace = obj["metadata"].get("namespace") or ""
    if call.resource.gvr == ("", "v1", "namespaces"):
        namespace = name
    shown = options.admission_object()
    write = Attributes(call, Operation.DELETE, kind, namespace, name, None, obj, shown, options.dry_run)
    await backend.admission.mutate(write)
    await backend.admission.validate(write)


def _begin_grace(obj: JsonObject, options: DeleteOptions, strategy: Strategy, now: datetime) -> tuple[bool, bool]:
    """Start or shorten the grace period. Returns whether the object has one, and whether nothing is left to do."""
    metadata = obj["metadata"]
    asked = options.grace_period
    if asked is not None and asked < 0:
        asked = 1
    running = metadata.get("deletionGracePeriodSeconds")
    if metadata.get("deletionTimestamp"):
        if not running:
            return False, False
        if asked is None or asked >= running:
            return False, True
        end = times.moment(metadata["deletionTimestamp"]) - timedelta(seconds=running) + timedelta(seconds=asked)
        if end < now:
            end, asked = now, min(asked, 1)
        metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = times.of(end), asked
        return True, False
    period = strategy.grace_period(obj, replace(options, grace_period=asked))
    if period is None:
        return False, False
    period = min(period, _LONGEST_GRACE)
    metadata["deletionTimestamp"] = times.of(now + timedelta(seconds=period))
    metadata["deletionGracePeriodSeconds"] = period
    if metadata.get("generation"):
        metadata["generation"] += 1
    return True, False


def _set_finalizers(metadata: JsonObject, options: DeleteOptions, strategy: Strategy) -> None:
    """Write down what is to become of the dependents. An explicit wish beats what is on the object already."""
    if strategy.dependents is Dependents.UNSUPPORTED:
        return
    present = metadata.get("finalizers") or []
    fate = _fate(present, options, strategy)
    finalizers = [each for each in present if each not in (ORPHAN, FOREGROUND)]
    if fate:
        finalizers.append(fate)
    if set(finalizers) == set(present):
        return
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


def _fate(present: list[str], options: DeleteOptions, strategy: Strategy) -> str:
    """The finalizer for the dependents: orphan, foregroundDeletion, or none for deletion in the background."""
    if options.orphan_dependents is not None:
        return ORPHAN if options.orphan_dependents else ""
    if options.propagation is not None:
        return {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.propagation, "")
    for each in present:
        if each in (ORPHAN, FOREGROUND):
            return each
    return ORPHAN if strategy.dependents is Dependents.ORPHAN else ""


def _mark_deleting(metadata: JsonObject, now: datetime) -> None:
    if not metadata.get("deletionTimestamp") and metadata.get("generation"):
        metadata["generation"] += 1
    when = metadata.get("deletionTimestamp")
    if not when or times.moment(when) > now:
        metadata["deletionTimestamp"] = times.of(now)
    metadata["deletionGracePeriodSeconds"] = 0


async def _write(backend: Backend, call: Call, record: Record, obj: JsonObject) -> Record | None:
    resource = call.resource
    form = await resource.codec.encode(obj)
    if resource.dump(form, record.revision) == record.value:
        return record
    return await rewrite(backend, resource, record, form)
