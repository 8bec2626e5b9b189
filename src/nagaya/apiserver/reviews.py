"""Requests that ask a question and are not stored: access reviews, token reviews, token requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nagaya.apiserver.apply.manager import FieldManager
from nagaya.apiserver.authn.chain import Authentication
from nagaya.apiserver.authn.reviews import review_self, review_token
from nagaya.apiserver.authn.token_requests import DEFAULT_SECONDS, TokenRequests
from nagaya.apiserver.authorization import Authorization
from nagaya.apiserver.authz import access_reviews
from nagaya.apiserver.builtins import decode, facts
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.body import read_object
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.create import admission_write
from nagaya.apiserver.registry.resource import Handler
from nagaya.apiserver.registry.system_metadata import metadata_of, place, wipe
from nagaya.apiserver.web import options, present
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.request import Response

Answer = Callable[[Call, JsonObject], JsonObject]
Handlers = Mapping[GroupResource, Mapping[str, Mapping[str, Handler]]]


def handlers(authentication: Authentication, authorization: Authorization, tokens: TokenRequests) -> Handlers:
    """What serves each review, by resource, subresource and verb."""

    def own_rules(call: Call, body: JsonObject) -> JsonObject:
        return access_reviews.review_own_rules(body, call.user, authorization)

    def own_access(call: Call, body: JsonObject) -> JsonObject:
        return access_reviews.review_own_access(body, call.user, authorization)

    def access(call: Call, body: JsonObject) -> JsonObject:
        return access_reviews.review_access(body, authorization)

    def local_access(call: Call, body: JsonObject) -> JsonObject:
        return access_reviews.review_local_access(body, call.namespace, authorization)

    def myself(call: Call, body: JsonObject) -> JsonObject:
        return review_self(call.user, call.backend.world.clock.now())

    async def token_review(call: Call, wanted: Wanted) -> Response:
        body = await _read(call)
        return present.respond(await review_token(body, authentication), wanted, 201)

    async def token_request(call: Call, wanted: Wanted) -> Response:
        body = await _read(call)
        prepared = tokens.prepare(body, call.namespace, call.name)
        write = admission_write(call, prepared, options.write_options(call.request, "CreateOptions"))
        await call.backend.admission.validate(write)
        issued = tokens.issue(prepared)
        for warning in issued.warnings:
            call.warn(warning)
        call.audit_annotations |= issued.annotations
        return present.respond(issued.token_request, wanted, 201)

    authorization_group, authentication_group = "authorization.k8s.io", "authentication.k8s.io"
    return {
        GroupResource(authorization_group, "selfsubjectaccessreviews"): _create(_answering(own_access)),
        GroupResource(authorization_group, "selfsubjectrulesreviews"): _create(_answering(own_rules)),
        GroupResource(authorization_group, "subjectaccessreviews"): _create(_answering(access)),
        GroupResource(authorization_group, "localsubjectaccessreviews"): _create(_answering(local_access)),
        GroupResource(authentication_group, "selfsubjectreviews"): _create(_answering(myself)),
        GroupResource(authentication_group, "tokenreviews"): _create(token_review),
        GroupResource("", "serviceaccounts"): {"token": {"create": token_request}},
    }


def _create(handler: Handler) -> Mapping[str, Mapping[str, Handler]]:
    return {"": {"create": handler}}


def _answering(answer: Answer) -> Handler:
    async def serve(call: Call, wanted: Wanted) -> Response:
        return present.respond(answer(call, await _read(call)), wanted, 201)

    return serve


async def _read(call: Call) -> JsonObject:
    """The question, as admission leaves it."""
    asked = options.write_options(call.request, "CreateOptions")
    kind = call.subresource.kind if call.subresource else call.resource.gvk
    struct = facts.struct_of(kind)

    def decoder(
        value: JsonObject, *, report: bool, body: bytes | None = None, repeated: bool = False
    ) -> tuple[JsonObject, list[str]]:
        return decode.normalise(struct, value, strict=report, body=body, repeated=repeated)

    obj = read_object(call, kind, decoder, asked.field_validation)
    if kind.kind == "TokenRequest" and obj["spec"].get("expirationSeconds") is None:
        obj["spec"]["expirationSeconds"] = DEFAULT_SECONDS
    metadata = metadata_of(obj)
    wipe(metadata)
    place(metadata, call.namespace)
    part = call.subresource.name if call.subresource else ""
    managers = FieldManager(kind, {kind.api_version: struct}) if part else call.resource.managers
    manager = call.manager(asked.field_manager)
    obj = await managers.update(None, obj, manager=manager, now=call.backend.now(), subresource=part)
    write = admission_write(call, obj, asked)
    await call.backend.admission.mutate(write)
    assert write.object is not None
    return write.object
