"""Creating an object, in the order in which the real server does it.

Nothing is stored before every check has passed, and what is stored is exactly what is returned. A name that is
generated and turns out to be taken is generated again, a few times.
"""

from __future__ import annotations

from nagaya.apiserver.admission.attributes import Attributes, Operation
from nagaya.apiserver.meta import object_meta, status
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.names import path_segment
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.outcome import Outcome
from nagaya.apiserver.registry.storing import bounded, labels_of, store_failure
from nagaya.apiserver.registry.strategy import Undo
from nagaya.apiserver.registry.system_metadata import (
    NAME_ATTEMPTS,
    drop_duplicate_owners,
    generate_name,
    metadata_of,
    place,
    wipe,
)
from nagaya.apiserver.storage import ABSENT, RevisionConflict, StorageFailure
from nagaya.apiserver.web.options import WriteOptions


async def create(backend: Backend, call: Call, obj: JsonObject, options: WriteOptions) -> Outcome:
    """Store a new object, which the caller has decoded and gives away."""
    resource = call.resource
    metadata = metadata_of(obj)
    wipe(metadata)
    place(metadata, call.namespace)
    drop_duplicate_owners(metadata, call.warn, after_admission=False)
    obj = await resource.managers.update(None, obj, manager=call.manager(options.field_manager), now=backend.now())
    write = await admit(backend, call, obj, options)
    assert write.object is not None
    obj = write.object
    drop_duplicate_owners(metadata_of(obj), call.warn, after_admission=True)
    prefix = metadata_of(obj).get("generateName") or ""
    if not prefix or metadata_of(obj).get("name"):
        return await _create_once(backend, call, obj, options)
    for attempt in range(NAME_ATTEMPTS):
        # A try that fails leaves its marks on the object, so each but the last works on a copy of its own.
        mine = obj if attempt == NAME_ATTEMPTS - 1 else {**obj}
        mine["metadata"] = {**metadata_of(obj), "name": _name(call, prefix)}
        try:
            return await _create_once(backend, call, mine, options)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
    raise status.generate_name_conflict(resource.group_resource, mine["metadata"]["name"], 1)


def _name(call: Call, prefix: str) -> str:
    return generate_name(prefix, call.backend.world) if call.resource.strategy.suffixes_names else prefix


def admission_write(call: Call, obj: JsonObject, options: WriteOptions) -> Attributes:
    """The creation as admission sees it."""
    name = call.name or metadata_of(obj).get("name") or ""
    namespace = call.namespace
    if call.resource.gvr == ("", "v1", "namespaces"):
        namespace = name
    shown = options.admission_object("CreateOptions")
    kind = call.subresource.kind if call.subresource else call.resource.gvk
    return Attributes(call, Operation.CREATE, kind, namespace, name, obj, None, shown, options.dry_run)


async def admit(backend: Backend, call: Call, obj: JsonObject, options: WriteOptions) -> Attributes:
    """Let admission change a new object. Raises 403 if none can be created at the moment."""
    write = admission_write(call, obj, options)
    if call.resource.closed:
        raise status.forbidden(call.resource.group_resource, write.name, call.resource.closed)
    await backend.admission.mutate(write)
    return write


async def _create_once(backend: Backend, call: Call, obj: JsonObject, options: WriteOptions) -> Outcome:
    fill(backend, obj)
    undo = await prepare(backend, call, obj)
    stored = False
    try:
        write = admission_write(call, obj, options)
        write.name = write.name or obj["metadata"]["name"]
        await backend.admission.validate(write)
        outcome = await insert(backend, call, obj, dry_run=options.dry_run)
        stored = not options.dry_run
        return outcome
    finally:
        if undo is not None and (pending := undo(stored)) is not None:
            await pending


def fill(backend: Backend, obj: JsonObject) -> None:
    """Give a new object its identity."""
    metadata = metadata_of(obj)
    metadata["uid"] = backend.world.uid()
    metadata["creationTimestamp"] = backend.now()


def _metadata_errors(call: Call, metadata: JsonObject) -> list[FieldError]:
    strategy = call.resource.strategy
    errors = object_meta.validate(
        metadata,
        namespaced=call.resource.namespaced,
        name_check=strategy.name_check,
        generate_name_checked=strategy.generate_name_checked,
    )
    return errors + (object_meta.validate_known_finalizers(metadata) if strategy.finalizers_checked else [])


async def prepare(backend: Backend, call: Call, obj: JsonObject) -> Undo | None:
    """Everything between a new object's identity and its validating admission. Raises 422 if it breaks rules."""
    resource = call.resource
    strategy = resource.strategy
    metadata = obj["metadata"]
    undo = await strategy.begin_create(obj, call)
    try:
        strategy.prepare_create(obj, call)
        errors = _metadata_errors(call, metadata) if strategy.metadata_first else []
        errors += strategy.validate_create(obj, call, errors)
        if not errors and not strategy.metadata_first:
            errors = _metadata_errors(call, metadata)
        if not errors:
            # Everything else has been found to be right already.
            errors = object_meta.validate_name(metadata, path_segment)
        if errors:
            raise status.invalid(resource.refused_kind, metadata.get("name") or "", errors)
        for warning in strategy.warn_create(obj, call):
            call.warn(warning)
        strategy.canonicalize(obj)
    except BaseException:
        if undo is not None and (pending := undo(False)) is not None:
            await pending
        raise
    return undo


async def insert(backend: Backend, call: Call, obj: JsonObject, *, dry_run: bool) -> Outcome:
    """Put a finished new object into the store, or only find out whether it would fit."""
    resource = call.resource
    metadata = obj["metadata"]
    if metadata.pop("resourceVersion", ""):
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    name = metadata["name"]
    key = resource.key(metadata.get("namespace") or "", name)
    if dry_run:
        if (existing := backend.store.get(resource.table, key)) is not None:
            raise _taken(call, name, existing.object())
        await resource.codec.encode({**obj})  # who converts may refuse
        return Outcome(resource, object=resource.rehearsed(obj), created=True)
    form = await resource.codec.encode(obj)
    try:
        record = await backend.store.put(
            resource.table,
            key,
            lambda revision: bounded(resource.dump(form, revision)),
            expected=ABSENT,
            labels=labels_of(form),
        )
    except RevisionConflict as conflict:
        raise _taken(call, name, conflict.current.object() if conflict.current else {}) from None
    except StorageFailure as failure:
        raise store_failure(failure) from failure
    return Outcome(resource, record=record, created=True)


def _taken(call: Call, name: str, existing: JsonObject) -> ApiError:
    error = status.already_exists(call.resource.group_resource, name)
    if (existing.get("metadata") or {}).get("deletionTimestamp"):
        message = f"object is being deleted: {error.message}"
        return ApiError(error.code, error.reason, message, error.details)
    return error
