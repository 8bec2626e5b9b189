"""ValidatingAdmissionPolicies: rules about writes as expressions, without a webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.policies import Binding, Policies, Use
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes
    from nagaya.apiserver.cel.policy import Outcome, ValidatingPolicy

_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_INVALID: Final = 422
_FAILURE: Final = "validation.policy.admission.k8s.io/validation_failure"
_ANNOTATION_LIMIT: Final = 10 * 1024


class ValidatingPolicies(Plugin):
    """Holds writes against policies."""

    def __init__(self, backend: Backend) -> None:
        self._policies: Policies[ValidatingPolicy] = Policies(backend, "validating", _compiled)

    async def validate(self, write: Attributes) -> None:
        """Deny, warn or note down, as the bindings of the policies that are broken say."""
        if not self._policies.any_bound():
            return
        uses = await self._policies.uses(write)
        refusals: list[ApiError] = []
        published: dict[str, list[str]] = {}
        for use in uses:
            if use.problem:
                if not use.policy.ignores_failure:
                    refusals.append(_refusal(write, use, use.problem, ""))
                continue
            assert use.form is not None
            namespace = self._policies.namespace_of(write)
            for parameters in use.parameters:
                given = await self._policies.input(write, use.form, parameters, namespace)
                outcome = use.policy.evaluator.validate(given)
                refusals += _consequences(write, use, outcome, published)
        for key, values in published.items():
            write.call.audit_annotations[key] = ", ".join(values)
        if refusals:
            raise refusals[0]


def _compiled(spec: JsonObject) -> ValidatingPolicy:
    from nagaya.apiserver.cel.policy import ValidatingPolicy

    return ValidatingPolicy(spec)


def _consequences(
    write: Attributes, use: Use[ValidatingPolicy], outcome: Outcome, published: dict[str, list[str]]
) -> list[ApiError]:
    """Warn and note down what a policy says, and return the refusals."""
    assert use.binding is not None
    refusals = []
    actions = use.binding.spec.get("validationActions") or ()
    for position, decision in enumerate(outcome.decisions):
        if not decision.denies:
            continue
        for action in actions:
            if action == "Deny":
                refusals.append(_refusal(write, use, decision.message, decision.reason))
            elif action == "Audit":
                write.call.audit_annotations[_FAILURE] = _failure(use.binding, position, decision.message)
            elif action == "Warn":
                write.call.warn(
                    f"Validation failed for ValidatingAdmissionPolicy '{use.policy.name}' with binding "
                    f"'{use.binding.name}': {decision.message}"
                )
    for annotation in outcome.audit_annotations:
        if annotation.error:
            refusals.append(_refusal(write, use, annotation.error, ""))
            continue
        value = annotation.value.encode()[:_ANNOTATION_LIMIT].decode(errors="ignore")
        values = published.setdefault(f"{use.policy.name}/{annotation.key}", [])
        if value not in values:
            values.append(value)
    return refusals


def _refusal(write: Attributes, use: Use[ValidatingPolicy], why: str, reason: str) -> ApiError:
    by = f"ValidatingAdmissionPolicy '{use.policy.name}'"
    if use.binding is not None:
        by += f" with binding '{use.binding.name}'"
    message = f"{by} denied request: {why}"
    refused = write.forbidden(message)
    reason = reason or "Invalid"
    details = {**(refused.details or {}), "causes": [{"message": message}]}
    return ApiError(_CODES.get(reason, _INVALID), reason, refused.message, details)


def _failure(binding: Binding, position: int, message: str) -> str:
    failure = {
        "message": message,
        "policy": binding.spec.get("policyName"),
        "binding": binding.name,
        "expressionIndex": position,
        "validationActions": binding.spec.get("validationActions"),
    }
    return orjson.dumps([failure]).decode()
