"""From a CustomResourceDefinition to what is served: one `Resource` per served version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.manager import FieldManager
from nagaya.apiserver.apply.reset_fields import without
from nagaya.apiserver.crd.resource import CustomResource
from nagaya.apiserver.crd.rules import RuleCompiler
from nagaya.apiserver.custom.codec import CustomCodec
from nagaya.apiserver.custom.compiled import compiled
from nagaya.apiserver.custom.conversion import ByWebhook, Converter, Renaming, WebhookCaller
from nagaya.apiserver.custom.scale import scale_subresource
from nagaya.apiserver.custom.strategy import CustomStatusStrategy, CustomStrategy
from nagaya.apiserver.meta.api_version import version_order
from nagaya.apiserver.meta.gvk import GroupVersionKind, GroupVersionResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.resource import Decoder, Resource, Subresource, TableMaker
from nagaya.apiserver.table.custom import CustomTable
from nagaya.world import World

_VERBS = frozenset({"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"})
_PART = frozenset({"get", "patch", "update"})


def resources(
    definition: JsonObject, compile_rules: RuleCompiler, converter: Converter, world: World
) -> list[Resource]:
    """What a definition serves. It is valid and its names are accepted."""
    return _Definition(definition, compile_rules, converter, world).resources()


class _Definition:
    def __init__(self, definition: JsonObject, compile_rules: RuleCompiler, converter: Converter, world: World) -> None:
        spec = definition["spec"]
        self._spec = spec
        self._names = definition["status"]["acceptedNames"]
        self._group: str = spec["group"]
        self._world = world
        # Records written after the definition's last change need no second look.
        self._since = int(definition["metadata"]["resourceVersion"])
        made = {
            f"{self._group}/{each['name']}": compiled(self._names["kind"], each, compile_rules)
            for each in spec["versions"]
        }
        self._compiled = {version: each.resource for version, each in made.items()}
        self._types = {version: each.types for version, each in made.items()}
        storage = next(each["name"] for each in spec["versions"] if each.get("storage"))
        self._storage_version = f"{self._group}/{storage}"
        self._converter = converter

    def resources(self) -> list[Resource]:
        return [self._resource(each) for each in self._spec["versions"] if each.get("served")]

    def _resource(self, version: JsonObject) -> Resource:
        names, name = self._names, version["name"]
        api_version = f"{self._group}/{name}"
        compiled = self._compiled[api_version]
        kind = GroupVersionKind(self._group, name, names["kind"])
        resource = Resource(
            gvr=GroupVersionResource(self._group, name, names["plural"]),
            kind=names["kind"],
            list_kind=names.get("listKind") or f"{names['kind']}List",
            singular=names.get("singular") or "",
            namespaced=self._spec["scope"] == "Namespaced",
            verbs=_VERBS,
            table=f"{self._group}/{names['plural']}",
            strategy=CustomStrategy(compiled),
            struct=self._types[api_version],
            codec=CustomCodec(api_version, self._storage_version, self._compiled, self._converter, self._since),
            decoder=_decoder(compiled),
            complete=compiled.complete,
            tables=_tables(version, self._world.clock.now),
            managers=self._managers(kind, compiled),
            builtin=False,
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            storage_version=self._storage_version.rpartition("/")[2],
            deprecation=_deprecation(version, kind, self._spec["versions"]),
        )
        if compiled.has_status:
            resource.subresources["status"] = Subresource("status", kind, _PART, CustomStatusStrategy(compiled))
        if compiled.scale is not None:
            resource.subresources["scale"] = scale_subresource(resource.strategy, compiled.scale, self._compiled)
        return resource

    def _managers(self, kind: GroupVersionKind, compiled: CustomResource) -> FieldManager:
        async def convert(obj: JsonObject, api_version: str) -> JsonObject | None:
            if api_version not in self._types:
                raise ApiError(500, "", f"request to convert CR to an invalid group/version: {api_version}")
            return (await self._converter.convert([{**obj}], api_version))[0]

        resets = {}
        if compiled.has_status:
            main, part = without(fieldset.of(["status"])), without(fieldset.of(["metadata"], ["spec"]))
            with_status = [name for name, each in self._compiled.items() if each.has_status]
            resets = {"": {kind.api_version: main}, "status": dict.fromkeys(with_status, part)}
        return FieldManager(kind, self._types, convert=convert, reset_fields=resets)


def converter_of(definition: JsonObject, caller: WebhookCaller, world: World) -> Converter:
    """Who converts the objects of a definition by its own account."""
    conversion = definition["spec"].get("conversion") or {}
    if conversion.get("strategy") == "Webhook":
        return ByWebhook(definition["metadata"]["name"], conversion.get("webhook") or {}, caller, world)
    return Renaming()


def _decoder(compiled: CustomResource) -> Decoder:
    def read(
        value: JsonObject, *, report: bool, body: bytes | None = None, repeated: bool = False
    ) -> tuple[JsonObject, list[str]]:
        return compiled.decode(value, report=report)

    return read


def _tables(version: JsonObject, now: Callable[[], datetime]) -> TableMaker:
    columns = CustomTable(version.get("additionalPrinterColumns") or [])

    def make(objects: Sequence[JsonObject], list_meta: JsonObject, include: str) -> JsonObject:
        return columns.table(objects, list_meta, include, now())

    return make


def _deprecation(version: JsonObject, kind: GroupVersionKind, all_versions: Sequence[JsonObject]) -> str:
    if not version.get("deprecated"):
        return ""
    if given := version.get("deprecationWarning"):
        return str(given)
    better = [
        each["name"]
        for each in all_versions
        if each.get("served")
        and not each.get("deprecated")
        and version_order(each["name"]) < version_order(kind.version)
    ]
    advice = f"; use {kind.group}/{min(better, key=version_order)} {kind.kind}" if better else ""
    return f"{kind.api_version} {kind.kind} is deprecated{advice}"
