"""MutatingWebhookConfigurations: webhooks are asked one after the other, and each sees what those before it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from nagaya.apiserver.admission import reviews, versions
from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.managed_fields import restored
from nagaya.apiserver.admission.reviews import Answer
from nagaya.apiserver.admission.rules import GROUP, Shown
from nagaya.apiserver.admission.webhooks import CallFailure, Hook, Webhooks
from nagaya.apiserver.custom.conversion import WebhookCaller
from nagaya.apiserver.meta import gostring, jsontext, status
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.patch import json_patch
from nagaya.apiserver.registry.backend import Backend

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

TABLE: Final = f"{GROUP}/mutatingwebhookconfigurations"
_MUTATION: Final = "mutation.webhook.admission.k8s.io/"
_PATCH: Final = "patch.webhook.admission.k8s.io/"


class MutatingWebhooks(Plugin):
    """Lets webhooks change what is written."""

    def __init__(self, backend: Backend, caller: WebhookCaller) -> None:
        self._webhooks = Webhooks(backend, caller, TABLE)

    async def mutate(self, write: Attributes) -> None:
        """Ask one after the other, and apply each one's patch before the next is asked."""
        named = self._webhooks.named(write)
        if not named:
            return
        rounds = write.rounds()
        memory = rounds.webhooks
        memory.begin(write.object, again=rounds.again)
        before = write.object
        for position, hook, form in named:
            if not await self._webhooks.is_meant(hook, form, write):
                continue
            # Whoever was not asked in the first round is not asked in the second either.
            if rounds.again and not memory.is_due(hook.uid):
                continue
            where = f"round_{int(rounds.again)}_index_{position}"
            if await self._ask(hook, form, write, where):
                memory.changed()
                rounds.wanted = True
            if hook.reinvocable:
                memory.invoked(hook.uid)
        if write.object is not before and write.object is not None and before is not None:
            write.object = restored(write.object, before, write.call)
        memory.end(write.object)

    async def _ask(self, hook: Hook, form: Shown, write: Attributes, where: str) -> bool:
        """Ask one webhook and do what it says. Returns whether that changed the object. Raises ApiError."""
        changed = False
        annotations = write.call.audit_annotations
        try:
            new = await versions.shown(write.object, write.resource, form)
            answer = await self._webhooks.ask(hook, form, write, new, mutating=True)
            if not answer.allowed:
                raise reviews.refusal(hook.name, answer.result)
            patch = _operations(hook, answer)
            if patch:
                annotations[f"{_PATCH}{where}"] = _annotation(hook, patch=patch, patchType=answer.patch_type)
                changed = await self._apply(hook, form, write, new, patch)
        except CallFailure as failure:
            if not hook.ignores_failure:
                raise failure.refusal() from failure
            annotations[f"failed-open.{_MUTATION}{where}"] = hook.name
        finally:
            annotations[f"{_MUTATION}{where}"] = _annotation(hook, mutated=changed)
        return changed

    async def _apply(
        self, hook: Hook, form: Shown, write: Attributes, new: JsonObject | None, patch: list[Any]
    ) -> bool:
        if new is None:
            name = gostring.quote(hook.name)
            why = f"admission webhook {name} attempted to modify the object, which is not supported for this operation"
            raise status.internal(why)
        patched = patch_object(new, patch)
        decoded = decode(patched, write, form)
        changed = bool(decoded != new)
        if versions.is_other(form, write.resource):
            decoded = await versions.converted(decoded, form.resource, write.resource)
        write.object = decoded
        return changed


def patch_object(obj: JsonObject, patch: list[Any]) -> Any:
    """A copy of an object with a patch applied. Raises 500."""
    try:
        return json_patch.apply(orjson.loads(orjson.dumps(obj)), patch)
    except json_patch.JsonPatchError as error:
        raise status.internal(str(error)) from None


def decode(patched: Any, write: Attributes, form: Shown) -> JsonObject:
    """What was patched as an object of its kind again, with defaults. Raises 500."""
    if not isinstance(patched, dict):
        raise status.internal(f"couldn't get version/kind; json parse error: {json_patch.json_type(patched)}")
    if form.kind != form.resource.gvk:
        return patched
    try:
        return form.resource.decoder(patched, report=False)[0]
    except DecodeError as error:
        raise status.internal(str(error)) from None


def _operations(hook: Hook, answer: Answer) -> list[Any]:
    if not answer.patch:
        return []
    try:
        patch, _ = jsontext.parse(answer.patch)
        problem = json_patch.malformed(patch, lenient=True)
    except DecodeError as error:
        patch, problem = None, str(error)
    if problem:
        raise CallFailure(hook.name, f"received undecodable patch in webhook response: {problem}")
    if patch and answer.patch_type != "JSONPatch":
        raise CallFailure(hook.name, f"unsupported patch type {gostring.quote(answer.patch_type)}")
    return patch or []


def _annotation(hook: Hook, **what: Any) -> str:
    return orjson.dumps({"configuration": hook.configuration, "webhook": hook.name, **what}).decode()
