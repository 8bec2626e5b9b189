"""Changing an object: PUT and every kind of PATCH end here.

The caller says how the new object follows from the current one; this module does that against the latest state, checks
the result and stores it only if the state has not changed meanwhile. If it has, and the client did not insist on a
version, it starts over from the new state. A change that changes nothing is not written and keeps its resourceVersion.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nagaya.apiserver.admission.attributes import Attributes, Operation
from nagaya.apiserver.meta import field_errors, object_meta, status
from nagaya.apiserver.meta.gvk import GroupKind
from nagaya.apiserver.meta.names import path_segment
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry import create
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.outcome import Outcome
from nagaya.apiserver.registry.preconditions import other_uid
from nagaya.apiserver.registry.storing import rewrite, store_failure
from nagaya.apiserver.registry.strategy import Strategy
from nagaya.apiserver.registry.system_metadata import drop_duplicate_owners, metadata_of, place
from nagaya.apiserver.storage import Record, RevisionConflict, StorageFailure
from nagaya.apiserver.web.options import WriteOptions

Copy = Callable[[], Awaitable[JsonObject]]
Produce = Callable[[JsonObject | None, Copy], Awaitable[JsonObject]]
"""From the current object (None: there is none) to the new one, managed fields included. May run more than once, and
must not change the object it is given; the second argument makes a copy of it to work on."""
View = Callable[[JsonObject], JsonObject]
"""From an object to what a subresource shows of it."""


async def _nothing() -> JsonObject:
    return {}


async def update(
    backend: Backend,
    call: Call,
    produce: Produce,
    options: WriteOptions,
    *,
    uid: str = "",
    allow_create: bool = False,
    view: View | None = None,
) -> Outcome:
    """Bring the object named in the URL into the state that `produce` makes of its current one.

    With a `view`, admission is shown that of the object instead, and `produce` has let mutating admission change it.
    """
    resource = call.resource
    strategy = call.subresource.strategy if call.subresource else resource.strategy
    key = resource.key(call.namespace, call.name)
    while True:
        record = backend.store.get(resource.table, key)
        if record is None:
            if not (strategy.allow_create_on_update or allow_create) or (call.subresource and not allow_create):
                raise status.not_found(resource.group_resource, call.name)
            outcome = await _create(backend, call, produce, options)
        else:
            outcome = await _change(backend, call, record, produce, options, strategy, uid, view)
        if outcome is not None:
            return outcome


async def _create(backend: Backend, call: Call, produce: Produce, options: WriteOptions) -> Outcome | None:
    """The object does not exist and may be created by this request. None if it has come into being meanwhile."""
    obj = await produce(None, _nothing)
    if uid := metadata_of(obj).get("uid"):
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise status.conflict(call.resource.group_resource, call.name, why)
    write = await create.admit(backend, call, obj, options)
    assert write.object is not None
    obj = write.object
    drop_duplicate_owners(metadata_of(obj), call.warn, after_admission=True)
    create.fill(backend, obj)
    undo = await create.prepare(backend, call, obj)
    stored = False
    try:
        call.authorize_create()
        await backend.admission.validate(create.admission_write(call, obj, options))
        outcome = await create.insert(backend, call, obj, dry_run=options.dry_run)
        stored = not options.dry_run
        return outcome
    except ApiError as error:
        if error.reason == "AlreadyExists":
            return None
        raise
    finally:
        if undo is not None and (pending := undo(stored)) is not None:
            await pending


async def _change(
    backend: Backend,
    call: Call,
    record: Record,
    produce: Produce,
    options: WriteOptions,
    strategy: Strategy,
    uid: str,
    view: View | None,
) -> Outcome | None:
    """One try at changing the object from the state in `record`. None if that state has passed."""
    resource = call.resource
    old = await resource.load(record)
    if uid and uid != old["metadata"]["uid"]:
        raise status.conflict(resource.group_resource, call.name, other_uid(resource, record.key, uid, old))
    new = await produce(old, lambda: resource.load(record))
    place(metadata_of(new), call.namespace)
    if view is None:
        write = admission_write(call, new, old, options)
        await backend.admission.mutate(write)
        assert write.object is not None
        new = write.object
    drop_duplicate_owners(metadata_of(new), call.warn, after_admission=True)
    _check_version(call, new, old, strategy)
    undo = await strategy.begin_update(new, old, call)
    stored = False
    try:
        prepare(call, new, old, strategy)
        _keep_old_times(new, old)
        seen = (new, old) if view is None else (view(new), view(old))
        await backend.admission.validate(admission_write(call, *seen, options))
        outcome = await _store(backend, call, record, new, old, strategy, dry_run=options.dry_run)
        stored = outcome is not None and not options.dry_run
        return outcome
    finally:
        if undo is not None and (pending := undo(stored)) is not None:
            await pending


def admission_write(call: Call, new: JsonObject, old: JsonObject, options: WriteOptions) -> Attributes:
    """What admission is asked about a change."""
    kind = call.subresource.kind if call.subresource else call.resource.gvk
    shown = options.admission_object("UpdateOptions")
    namespace = call.namespace
    if call.resource.gvr == ("", "v1", "namespaces"):
        namespace = call.name
    return Attributes(call, Operation.UPDATE, kind, namespace, call.name, new, old, shown, options.dry_run)


def _check_version(call: Call, new: JsonObject, old: JsonObject, strategy: Strategy) -> None:
    """Hold the update to the version it was made for."""
    metadata = new["metadata"]
    given, current = metadata.get("resourceVersion") or "", old["metadata"]["resourceVersion"]
    if given in ("", "0"):
        if not strategy.allow_unconditional_update:
            resource = call.resource.group_resource
            error = field_errors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise status.invalid(GroupKind(resource.group, resource.resource), call.name, [error])
        metadata["resourceVersion"] = current
    elif given != current:
        raise status.conflict(call.resource.group_resource, call.name, status.MODIFIED)


def prepare(call: Call, new: JsonObject, old: JsonObject, strategy: Strategy) -> None:
    """Everything between mutating and validating admission. Raises 422 if the change breaks rules."""
    resource = call.resource
    metadata, before = new["metadata"], old["metadata"]
    _copy(metadata, before, "generation")
    strategy.prepare_update(new, old, call)
    metadata = new["metadata"]
    if not metadata.get("uid"):
        metadata["uid"] = before["uid"]
    _copy(metadata, before, "creationTimestamp")
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if before.get("deletionGracePeriodSeconds") is not None and metadata.get("deletionGracePeriodSeconds") is None:
        metadata["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]
    errors = object_meta.validate(metadata, namespaced=resource.namespaced, name_check=path_segment)
    errors += object_meta.validate_update(metadata, before, sound=not errors)
    if strategy.finalizers_checked:
        errors += object_meta.validate_known_finalizers(metadata)
    errors += strategy.validate_update(new, old, call, errors)
    if errors:
        raise status.invalid(resource.refused_kind, metadata.get("name") or "", errors)
    for warning in strategy.warn_update(new, old, call):
        call.warn(warning)
    strategy.canonicalize(new)


def _copy(metadata: JsonObject, before: JsonObject, member: str) -> None:
    if member in before:
        metadata[member] = before[member]
    else:
        metadata.pop(member, None)


def _keep_old_times(new: JsonObject, old: JsonObject) -> None:
    """If nothing but the time of managed fields would change, let that stay too, so that the write is a no-op."""
    mine, before = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not mine or not before or mine == before or len(mine) != len(before):
        return
    if [_timeless(entry) for entry in mine] != [_timeless(entry) for entry in before]:
        return
    kept = new["metadata"]["managedFields"]
    new["metadata"]["managedFields"] = before
    if new != old:
        new["metadata"]["managedFields"] = kept


def _timeless(entry: JsonObject) -> JsonObject:
    return {key: value for key, value in entry.items() if key != "time"}


async def _store(
    backend: Backend,
    call: Call,
    record: Record,
    new: JsonObject,
    old: JsonObject,
    strategy: Strategy,
    *,
    dry_run: bool,
) -> Outcome | None:
    resource = call.resource
    if _last_finalizer_went(new, old) and strategy.delete_during_update(new, old):
        return await remove(backend, call, record, new, dry_run=dry_run)
    form = await resource.codec.encode(new)
    if resource.dump(form, record.revision) == record.value:
        return Outcome(resource, record=record)
    if dry_run:
        return Outcome(resource, object=resource.rehearsed(new))
    written = await rewrite(backend, resource, record, form)
    return None if written is None else Outcome(resource, record=written)


def _last_finalizer_went(new: JsonObject, old: JsonObject) -> bool:
    before = old["metadata"]
    if new["metadata"].get("finalizers") or not before.get("deletionTimestamp"):
        return False
    return not before.get("deletionGracePeriodSeconds")


async def remove(backend: Backend, call: Call, record: Record, last: JsonObject, *, dry_run: bool) -> Outcome | None:
    """Take an object out of the store. None if its state in `record` has passed. `last` is what the client is told."""
    resource = call.resource
    if not dry_run:
        form = await resource.codec.encode(await resource.load(record))
        try:
            await backend.store.delete(
                resource.table,
                record.key,
                encode=lambda revision: resource.dump(form, revision),
                expected=record.revision,
            )
        except RevisionConflict:
            return None
        except StorageFailure as failure:
            raise store_failure(failure) from failure
        resource.strategy.after_delete(last)
    return Outcome(resource, object=last, removed=True)
