"""MutatingAdmissionPolicies: changes to writes as expressions, without a webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from nagaya.apiserver.admission import versions
from nagaya.apiserver.admission.apply_configuration import ApplyError, applied
from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.managed_fields import restored
from nagaya.apiserver.admission.policies import Policies, Use
from nagaya.apiserver.admission.rules import Shown
from nagaya.apiserver.builtins import facts
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.gostring import quote
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.patch import json_patch
from nagaya.apiserver.registry.backend import Backend

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes
    from nagaya.apiserver.cel.policy_mutations import ApplyConfiguration, MutatingPolicy, Patch


class MutatingPolicies(Plugin):
    """Lets policies change what is written."""

    def __init__(self, backend: Backend) -> None:
        self._policies: Policies[MutatingPolicy] = Policies(backend, "mutating", _compiled)

    async def mutate(self, write: Attributes) -> None:
        """Apply all mutations of all policies in order."""
        if not self._policies.any_bound() or write.operation == "DELETE":
            return
        uses = await self._policies.uses(write)
        if not uses:
            return
        rounds = write.rounds()
        memory = rounds.policies
        memory.begin(write.object, again=rounds.again)
        before = write.object
        problems = [(use, use.problem, "") for use in uses if use.problem]
        for use in uses:
            for parameters in use.parameters:
                problems += await self._run(write, use, parameters)
        if write.object is not before and write.object is not None and before is not None:
            write.object = restored(write.object, before, write.call)
        memory.end(write.object)
        counting = [each for each in problems if not each[0].policy.ignores_failure]
        if counting:
            raise _refusal(write, counting)

    async def _run(
        self, write: Attributes, use: Use[MutatingPolicy], parameters: JsonObject | None
    ) -> list[tuple[Use[MutatingPolicy], str, str]]:
        """Carry out a policy's mutations. Returns what went wrong."""
        from nagaya.apiserver.cel.policy_mutations import MutationError

        assert use.form is not None
        assert use.binding is not None
        rounds = write.rounds()
        namespace = self._policies.namespace_of(write)
        policy = use.policy.evaluator
        match = policy.match(await self._policies.input(write, use.form, parameters, namespace))
        if match.error:
            return [(use, match.error, "Invalid")]
        if not match.matches:
            return []
        metadata = (parameters or {}).get("metadata") or {}
        who = f"{use.policy.name}/{use.binding.name}/{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
        if rounds.again and not rounds.policies.is_due(who):
            return []
        problems = []
        before = write.object
        for mutation in policy.mutations:
            if write.object is None:
                break
            given = await self._policies.input(write, use.form, parameters, namespace)
            try:
                change = mutation.compute(given)
                assert given.object is not None
                await _carry_out(change, given.object, use.form, write)
            except (MutationError, ApplyError) as error:
                problems.append((use, str(error), "Invalid"))
        if write.object is not before and write.object != before:
            rounds.policies.changed()
            rounds.wanted = True
        if use.policy.spec.get("reinvocationPolicy") == "IfNeeded":
            rounds.policies.invoked(who)
        return problems


def _compiled(spec: JsonObject) -> MutatingPolicy:
    from nagaya.apiserver.cel.policy_mutations import MutatingPolicy

    return MutatingPolicy(spec)


async def _carry_out(change: Patch | ApplyConfiguration, obj: JsonObject, form: Shown, write: Attributes) -> None:
    """Change the object of a write, given in the form that the policy knows. Raises ApplyError and ApiError."""
    from nagaya.apiserver.cel.policy_mutations import ApplyConfiguration

    own = orjson.loads(orjson.dumps(obj))
    if isinstance(change, ApplyConfiguration):
        whole = form.kind == form.resource.gvk
        made = applied(own, change.fields, form.resource.struct if whole else facts.struct_of(form.kind))
    else:
        try:
            made = json_patch.apply(own, change.operations)
        except json_patch.JsonPatchError as error:
            if str(error).endswith(": test failed"):
                return
            raise ApplyError(f"JSON Patch: {error}") from None
    if form.kind == form.resource.gvk:
        # The patched form of a built-in kind is read strictly; a custom one is pruned.
        strict = form.resource.builtin and not isinstance(change, ApplyConfiguration)
        try:
            made, unknown = form.resource.decoder(made, report=strict)
        except DecodeError as error:
            raise status.internal(str(error)) from None
        if unknown and strict:
            raise status.internal(f"strict decoding error: {', '.join(unknown)}")
    if versions.is_other(form, write.resource):
        made = await versions.converted(made, form.resource, write.resource)
    write.object = made


def _refusal(write: Attributes, problems: list[tuple[Use[MutatingPolicy], str, str]]) -> ApiError:
    messages = []
    for use, why, _ in problems:
        if use.binding is None:
            messages.append(f"policy {quote(use.policy.name)} denied request: {why}")
        else:
            messages.append(f"policy '{use.policy.name}' with binding '{use.binding.name}' denied request: {why}")
    refused = write.forbidden("admission request denied by policy")
    details = {**(refused.details or {}), "causes": [{"message": message} for message in messages]}
    return ApiError(refused.code, problems[0][2] or refused.reason, messages[0], details)
