"""The scale subresource: any kind that has replicas looks like an `autoscaling/v1` Scale through it.

Reading shows the numbers; writing changes the one number that is a wish. Admission is shown the Scale too, not the
object. Who owns the number is kept right in the object's managed fields: a writer through the Scale takes it over like
any other writer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import orjson

from nagaya.apiserver.apply import scale as ownership
from nagaya.apiserver.apply.manager import FieldManager
from nagaya.apiserver.builtins import decode, facts
from nagaya.apiserver.meta import field_errors, jsontext, status, yamltext
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.patch.door import PatchType, apply_patch, undecodable
from nagaya.apiserver.registry.body import read_object, strict
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.patch import check_name, malformed, patch_type
from nagaya.apiserver.registry.read import get
from nagaya.apiserver.registry.resource import Subresource
from nagaya.apiserver.registry.strategy import Strategy
from nagaya.apiserver.registry.update import Copy, Produce, admission_write, update
from nagaya.apiserver.table.builtin.autoscaling import CUSTOM_SCALES, SCALES
from nagaya.apiserver.table.convert import table
from nagaya.apiserver.web import options, present
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.options import WriteOptions
from nagaya.apiserver.web.request import Response

KIND: Final = GroupVersionKind("autoscaling", "v1", "Scale")
_VERBS: Final = frozenset({"get", "patch", "update"})


Wish = Callable[[JsonObject], Awaitable[JsonObject]]
"""From the present Scale to the wanted one, managed fields included."""


class View(Protocol):
    """Where a kind has its numbers."""

    def show(self, obj: JsonObject) -> JsonObject:
        """The Scale of an object."""
        ...

    def apply(self, obj: JsonObject, scale: JsonObject) -> JsonObject:
        """An object with the replicas that a Scale asks for."""
        ...


@dataclass(slots=True)
class _Scale:
    view: View
    paths: ownership.ReplicasPaths
    managers: FieldManager

    async def get(self, call: Call, wanted: Wanted) -> Response:
        record = get(call.backend, call.resource, call.namespace, call.name)
        return _respond(call, self.view.show(await call.resource.load(record)), wanted)

    async def update(self, call: Call, wanted: Wanted) -> Response:
        asked = options.write_options(call.request, "UpdateOptions")
        body = orjson.dumps(read_object(call, KIND, _decode, asked.field_validation))

        async def wish(live: JsonObject) -> JsonObject:
            new: JsonObject = orjson.loads(body)
            manager = call.manager(asked.field_manager)
            return await self.managers.update(live, new, manager=manager, now=call.backend.now(), subresource="scale")

        return await self._write(call, asked, wish, wanted)

    async def patch(self, call: Call, wanted: Wanted) -> Response:
        form = patch_type(call)
        applies = form is PatchType.APPLY
        asked = options.write_options(call.request, "PatchOptions", apply=applies)
        return await self._write(
            call, asked, self._applied(call, asked) if applies else self._patched(call, form, asked), wanted
        )

    def _patched(self, call: Call, form: PatchType, asked: WriteOptions) -> Wish:
        try:
            body, duplicates = jsontext.parse(call.request.body)
        except DecodeError as error:
            raise status.bad_request(f"error decoding patch: {error}") from None

        async def wish(live: JsonObject) -> JsonObject:
            lenient = asked.field_validation == "Ignore"
            patched, problems = apply_patch(form, live, body, facts.struct_of(KIND), lenient=lenient)
            try:
                new, unknown = _decode(patched, report=not lenient)
            except DecodeError as error:
                raise undecodable(form, body, patched, str(error)) from None
            found = [*duplicates, *problems, *unknown]
            strict(call, asked.field_validation, found, lambda problem: undecodable(form, body, patched, problem))
            manager = call.manager(asked.field_manager)
            return await self.managers.update(live, new, manager=manager, now=call.backend.now(), subresource="scale")

        return wish

    def _applied(self, call: Call, asked: WriteOptions) -> Wish:
        try:
            body, _ = yamltext.parse(call.request.body)
        except DecodeError as error:
            raise status.bad_request(f"error decoding YAML: {error}") from None

        async def wish(live: JsonObject) -> JsonObject:
            applied = await self.managers.apply(
                live,
                body,
                manager=asked.field_manager,
                force=bool(asked.force),
                now=call.backend.now(),
                subresource="scale",
            )
            try:
                return live if applied is None else _decode(applied, report=False)[0]
            except DecodeError as error:
                raise malformed(KIND.kind, error) from None

        return wish

    async def _write(self, call: Call, asked: WriteOptions, wish: Wish, wanted: Wanted) -> Response:
        call.dry_run = asked.dry_run
        outcome = await update(call.backend, call, self._produce(call, asked, wish), asked, view=self.view.show)
        return _respond(call, self.view.show(await outcome.load()), wanted)

    def _produce(self, call: Call, asked: WriteOptions, wish: Wish) -> Produce:
        api_version = call.resource.api_version

        async def produce(live: JsonObject | None, copy: Copy) -> JsonObject:
            if live is None:
                raise status.not_found(call.resource.group_resource, call.name)
            entries = live["metadata"].get("managedFields") or []
            shown = self.view.show(live)
            shown["metadata"]["managedFields"] = ownership.to_subresource(entries, self.paths)
            write = admission_write(call, await wish(shown), self.view.show(live), asked)
            await call.backend.admission.mutate(write)
            assert write.object is not None
            new = write.object
            check_name(call, new)
            _validate(call, new)
            changed = self.view.apply(await copy(), new)
            owners = ownership.to_parent(entries, new["metadata"].get("managedFields") or [], api_version, self.paths)
            metadata = {**changed["metadata"], "managedFields": owners}
            version = new["metadata"].get("resourceVersion") or live["metadata"]["resourceVersion"]
            metadata["resourceVersion"] = version
            if not owners:
                del metadata["managedFields"]
            return {**changed, "metadata": metadata}

        return produce


def subresource(strategy: Strategy, view: View, paths: Mapping[str, tuple[str, ...] | None]) -> Subresource:
    """The scale subresource of a kind. `paths` says where each version has its replicas."""
    managers = FieldManager(KIND, {KIND.api_version: facts.struct_of(KIND)})
    scale = _Scale(view, paths, managers)
    handlers = {"get": scale.get, "update": scale.update, "patch": scale.patch}
    return Subresource("scale", KIND, _VERBS, strategy, managers, handlers)


def _decode(
    value: JsonObject, *, report: bool, body: bytes | None = None, repeated: bool = False
) -> tuple[JsonObject, list[str]]:
    return decode.normalise(facts.struct_of(KIND), value, strict=report, body=body, repeated=repeated)


def _validate(call: Call, scale: JsonObject) -> None:
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    # Custom resources are validated as a whole instead, by their own names of the fields.
    if replicas < 0 and call.resource.builtin:
        error = field_errors.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid(KIND.group_kind, call.name, [error])


def _respond(call: Call, scale: JsonObject, wanted: Wanted) -> Response:
    if wanted.transform == "Table":
        include, now = present.include_object(call.request), call.backend.world.clock.now()
        shape = SCALES if call.resource.builtin else CUSTOM_SCALES
        return present.respond(table(shape, [scale], {}, include, now, version=wanted.transform_version), wanted)
    if wanted.transform == "PartialObjectMetadata":
        return present.respond(present.partial(scale, wanted.transform_version), wanted)
    if wanted.transform:
        package = "autoscaling" if call.resource.builtin else "v1"
        raise present.other_form(wanted.transform, f"not a list (*{package}.{KIND.kind})")
    return present.respond(scale, wanted)
