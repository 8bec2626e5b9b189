"""Webhooks as admission sees them: which are meant for a write, and how one is asked.

Mutating and validating webhooks differ in when they are asked and what they may answer; what is common to both is here.
A webhook that cannot be asked is a `CallFailure`, which its `failurePolicy` may let pass; its refusal is an ApiError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission import reviews, rules, versions
from nagaya.apiserver.admission.configurations import Configurations
from nagaya.apiserver.admission.reviews import Answer
from nagaya.apiserver.admission.rules import Equivalents, Shown
from nagaya.apiserver.admission.selecting import Selectors
from nagaya.apiserver.custom.conversion import WebhookCaller, WebhookFailure
from nagaya.apiserver.meta import gostring, status
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes
    from nagaya.apiserver.cel.policy import MatchConditions

_TIMEOUT: Final = 10
_HARMLESS: Final = ("None", "NoneOnDryRun")


class CallFailure(Exception):
    """A webhook could not be asked, or its answer makes no sense."""

    def __init__(self, webhook: str, why: str) -> None:
        super().__init__(f"failed calling webhook {gostring.quote(webhook)}: {why}")

    def refusal(self) -> ApiError:
        """What the client is told where the failure counts."""
        return status.internal(str(self))


@dataclass(slots=True, eq=False)
class Hook:
    """One webhook of a configuration."""

    configuration: str
    spec: JsonObject
    uid: str  # tells webhooks apart between the rounds of one write
    name: str = field(init=False)
    ignores_failure: bool = field(init=False)
    reinvocable: bool = field(init=False)
    selectors: Selectors = field(init=False)
    _conditions: MatchConditions | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.name = self.spec.get("name") or ""
        self.ignores_failure = self.spec.get("failurePolicy") == "Ignore"
        self.reinvocable = self.spec.get("reinvocationPolicy") == "IfNeeded"
        self.selectors = Selectors(self.spec)

    @property
    def conditions(self) -> MatchConditions | None:
        """The match conditions, compiled when the webhook is first meant."""
        if self._conditions is None and self.spec.get("matchConditions"):
            from nagaya.apiserver.cel.policy import MatchConditions

            self._conditions = MatchConditions(self.spec["matchConditions"], self.spec.get("failurePolicy"))
        return self._conditions


def hooks_of(configuration: JsonObject) -> list[Hook]:
    """The webhooks of a configuration."""
    name = configuration["metadata"]["name"]
    made: list[Hook] = []
    seen: dict[str, int] = {}
    for spec in configuration.get("webhooks") or ():
        position = seen[spec.get("name") or ""] = seen.get(spec.get("name") or "", -1) + 1
        made.append(Hook(name, spec, f"{name}/{spec.get('name') or ''}/{position}"))
    return made


class Webhooks:
    """All webhooks of one sort, in the order in which they are asked."""

    def __init__(self, backend: Backend, caller: WebhookCaller, table: str) -> None:
        self._backend = backend
        self._caller = caller
        self._configurations = Configurations(backend.store, table, hooks_of)
        self._equivalents = Equivalents(backend.catalog)
        self._known = (-1, -1)
        # By resource, subresource, operation and scope: whom the rules name.
        self._named: dict[tuple[object, ...], list[tuple[int, Hook, Shown]]] = {}

    def named(self, write: Attributes) -> Sequence[tuple[int, Hook, Shown]]:
        """The webhooks whose rules a write falls under, each with its position among all."""
        configurations = self._configurations.all
        if not configurations or rules.is_exempt(write):
            return ()
        known = (self._configurations.generation, self._equivalents.generation)
        if known != self._known:
            self._known, self._named = known, {}
        key = (write.resource.gvr, write.subresource, write.operation, bool(write.namespace))
        found = self._named.get(key)
        if found is None:
            found = self._named[key] = list(self._find(configurations, write))
        return found

    def _find(self, configurations: Sequence[list[Hook]], write: Attributes) -> list[tuple[int, Hook, Shown]]:
        found = []
        hooks = [hook for configuration in configurations for hook in configuration]
        for position, hook in enumerate(hooks):
            equivalent = hook.spec.get("matchPolicy") == "Equivalent"
            matching = rules.match(hook.spec.get("rules") or (), write, self._equivalents, equivalent=equivalent)
            for _, form in matching:
                found.append((position, hook, form))
                break
        return found

    async def is_meant(self, hook: Hook, form: Shown, write: Attributes) -> bool:
        """Whether a webhook named by its rules is to be asked. Raises ApiError where that cannot be known."""
        if not hook.selectors.match(write, self._backend.store):
            return False
        conditions = hook.conditions
        if conditions is None:
            return True
        from nagaya.apiserver.cel.policy_expressions import Input

        given = Input(
            request=reviews.request(write, form),
            object=await versions.shown(write.object, write.resource, form),
            old_object=await versions.shown(write.old, write.resource, form),
            user=write.user,
            authorizer=self._backend.authorizer,
        )
        match = conditions.match(given)
        if match.error:
            raise status.forbidden(write.resource.group_resource, write.name, match.error)
        return match.matches

    async def ask(
        self, hook: Hook, form: Shown, write: Attributes, new: JsonObject | None, *, mutating: bool
    ) -> Answer:
        """What a webhook says to a write, whose object in the form to show is `new`. Raises CallFailure and 400."""
        if write.dry_run and hook.spec.get("sideEffects") not in _HARMLESS:
            raise status.bad_request(f"admission webhook {gostring.quote(hook.name)} does not support dry run")
        try:
            version = reviews.review_version(hook.spec.get("admissionReviewVersions") or ())
        except WebhookFailure as failure:
            raise CallFailure(hook.name, f"could not create admission objects: {failure}") from None
        uid = self._backend.world.uid()
        old = await versions.shown(write.old, write.resource, form)
        review = reviews.review(version, uid, reviews.request(write, form), new, old)
        timeout = hook.spec.get("timeoutSeconds") or _TIMEOUT
        try:
            response = await self._caller.call(hook.spec.get("clientConfig") or {}, review, timeout, name=hook.name)
        except WebhookFailure as failure:
            raise CallFailure(hook.name, f"failed to call webhook: {failure}") from failure
        try:
            answer = reviews.read(response, version, uid, mutating=mutating)
        except WebhookFailure as failure:
            raise CallFailure(hook.name, str(failure)) from failure
        for key, value in answer.audit_annotations.items():
            write.call.audit_annotations[f"{hook.name}/{key}"] = value
        for warning in answer.warnings:
            write.call.warn(warning)
        return answer
