"""Built-in resources as the server serves them, made from the facts and what each kind does differently."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.manager import FieldManager
from nagaya.apiserver.apply.reset_fields import Filter, without
from nagaya.apiserver.builtins import decode, facts
from nagaya.apiserver.builtins.converting import ConvertingCodec
from nagaya.apiserver.builtins.kinds import pod_actions
from nagaya.apiserver.builtins.kinds.kind import StatusStrategy
from nagaya.apiserver.builtins.kinds.registry import kind_of
from nagaya.apiserver.builtins.kinds.scaling import scale_of
from nagaya.apiserver.builtins.resources import BuiltinResource, all_resources
from nagaya.apiserver.builtins.shared import SHARED, Shared, convert, forms_of
from nagaya.apiserver.meta.gvk import GroupResource, GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.resource import BuiltinCodec, Codec, Decoder, Handler, Resource, Subresource, TableMaker
from nagaya.apiserver.registry.strategy import Strategy
from nagaya.apiserver.schema.types import Struct
from nagaya.apiserver.table.builtin import table_for_builtin

_DEPRECATED: Final = {
    GroupVersionKind("", "v1", "Endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
}


def assemble(
    handlers: Mapping[GroupResource, Mapping[str, Mapping[str, Handler]]], now: Callable[[], datetime]
) -> list[Resource]:
    """All built-in resources. `handlers` serve those that are not stored objects, by resource, subresource and verb."""
    served = {**pod_actions.handlers(), **handlers}
    return [_resource(facts_of, served.get(facts_of.gvr.group_resource, {}), now) for facts_of in all_resources()]


def _resource(
    found: BuiltinResource, handlers: Mapping[str, Mapping[str, Handler]], now: Callable[[], datetime]
) -> Resource:
    kind = kind_of(found.gvr.group_resource)
    struct = facts.struct_of(found.gvk)
    shared = SHARED.get(found.gvk)
    resource = Resource(
        gvr=found.gvr,
        kind=found.kind,
        list_kind=f"{found.kind}List",
        singular=found.singular,
        namespaced=found.namespaced,
        verbs=frozenset(found.verbs),
        table=shared.table if shared else _table(found.gvr.group_resource),
        strategy=kind.main,
        struct=struct,
        codec=_codec(found.gvk, struct, shared),
        decoder=_decoder(struct, kind.main),
        tables=_tables(found, now) if "list" in found.verbs else None,
        managers=_managers(found.gvk, found.gvr.group_resource),
        short_names=found.short_names,
        categories=found.categories,
        handlers=handlers.get("", {}),
        error_kind=shared.stored.group_kind if shared else None,
        deprecation=_DEPRECATED.get(found.gvk, ""),
    )
    for sub in found.subresources.values():
        if sub.name == "scale" and (scale := scale_of(found.gvr.group_resource, kind.main)) is not None:
            resource.subresources["scale"] = scale
            continue
        strategy = kind.subresources.get(sub.name) or StatusStrategy(kind.main)
        resource.subresources[sub.name] = Subresource(
            sub.name, sub.kind, frozenset(sub.verbs), strategy, None, handlers.get(sub.name, {})
        )
    return resource


def _table(name: GroupResource) -> str:
    return f"{name.group}/{name.resource}" if name.group else name.resource


def _codec(kind: GroupVersionKind, struct: Struct, shared: Shared | None) -> Codec:
    if shared is None:
        return BuiltinCodec(kind.kind, kind.api_version, struct)
    return ConvertingCodec(kind.kind, kind.api_version, shared.to_served, shared.to_stored)


def _decoder(struct: Struct, strategy: Strategy) -> Decoder:
    def read(
        value: JsonObject, *, report: bool, body: bytes | None = None, repeated: bool = False
    ) -> tuple[JsonObject, list[str]]:
        obj, unknown = decode.normalise(struct, value, strict=report, body=body, repeated=repeated)
        strategy.default(obj)
        return obj, unknown

    return read


@cache
def _managers(kind: GroupVersionKind, resource: GroupResource) -> FieldManager:
    """What tracks a kind's fields. It remembers nothing of any object, so all servers of a process share it."""
    struct, behaviour = facts.struct_of(kind), kind_of(resource)
    strategies = {"": behaviour.main, **behaviour.subresources}
    if "status" in struct.fields and "status" not in strategies:
        strategies["status"] = StatusStrategy(behaviour.main)
    forms = forms_of(kind)
    resets = {
        name: dict.fromkeys(forms, _filter(each.reset_fields)) for name, each in strategies.items() if each.reset_fields
    }
    if len(forms) == 1:
        return FieldManager(kind, {kind.api_version: struct}, reset_fields=resets)
    types = {api_version: facts.struct_of(each) for api_version, each in forms.items()}
    return FieldManager(kind, types, convert=_convert, reset_fields=resets)


async def _convert(obj: JsonObject, api_version: str) -> JsonObject | None:
    return convert(obj, api_version)


def _filter(paths: Iterable[str]) -> Filter:
    return without(fieldset.of(*(path.split(".") for path in paths)))


def _tables(found: BuiltinResource, now: Callable[[], datetime]) -> TableMaker:
    def make(objects: Sequence[JsonObject], list_meta: JsonObject, include: str) -> JsonObject:
        return table_for_builtin(found.group, found.kind, objects, list_meta, include, now())

    return make
