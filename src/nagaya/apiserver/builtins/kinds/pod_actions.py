"""What can be done with a pod besides writing it: giving it a node, and asking it to go.

Both are answered with a Status. The older way to give a pod a node, a Binding of its own, leads to the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from nagaya.apiserver.builtins import decode, facts
from nagaya.apiserver.builtins.kinds import pod_binding, pod_eviction
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.gvk import GroupResource, GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.body import read_object
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.create import admission_write
from nagaya.apiserver.registry.resource import Handler
from nagaya.apiserver.registry.system_metadata import metadata_of, place, wipe
from nagaya.apiserver.web import options, present
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.options import WriteOptions
from nagaya.apiserver.web.request import Response

Act = Callable[[Call, str, JsonObject, WriteOptions], Awaitable[None]]
_PODS: Final = GroupResource("", "pods")
_BINDINGS: Final = GroupResource("", "bindings")


def handlers() -> Mapping[GroupResource, Mapping[str, Mapping[str, Handler]]]:
    """What serves them, by resource, subresource and verb."""
    return {
        _PODS: {
            "binding": {"create": _serving(pod_binding.bind, keeps_identity=True)},
            "eviction": {"create": _serving(pod_eviction.evict, keeps_identity=False)},
        },
        _BINDINGS: {"": {"create": _serving(pod_binding.bind, keeps_identity=False)}},
    }


def _serving(act: Act, *, keeps_identity: bool) -> Handler:
    async def serve(call: Call, wanted: Wanted) -> Response:
        asked = options.write_options(call.request, "CreateOptions")
        call.dry_run = asked.dry_run
        obj = _read(call, asked)
        metadata = metadata_of(obj)
        meant = {field: metadata[field] for field in ("uid", "resourceVersion") if metadata.get(field)}
        wipe(metadata)
        place(metadata, call.namespace)
        if keeps_identity:
            metadata |= meant
        write = admission_write(call, obj, asked)
        await call.backend.admission.mutate(write)
        assert write.object is not None
        name = call.name if call.subresource else metadata_of(write.object).get("name") or ""
        await act(call, name, write.object, asked)
        body = {**status.success(), "code": 201}
        return present.respond(body, wanted, 201)

    return serve


def _read(call: Call, asked: WriteOptions) -> JsonObject:
    kind: GroupVersionKind = call.subresource.kind if call.subresource else call.resource.gvk
    struct = facts.struct_of(kind)

    def decoder(
        value: JsonObject, *, report: bool, body: bytes | None = None, repeated: bool = False
    ) -> tuple[JsonObject, list[str]]:
        return decode.normalise(struct, value, strict=report, body=body, repeated=repeated)

    return read_object(call, kind, decoder, asked.field_validation)
