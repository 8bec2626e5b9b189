"""Webhook configurations, admission policies and their bindings: cluster-wide objects that say what may be written.

What is wrong with them is found out in sibling modules, which are loaded when one of them is first written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.admission_rules import default_matching, default_rules
from nagaya.apiserver.builtins.kinds.kind import Kind, StatusStrategy
from nagaya.apiserver.meta.field_errors import FieldError, Path, required
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy

_GROUP: Final = "admissionregistration.k8s.io"
_STATIC: Final = ".static.k8s.io"
_RESERVED: Final = (
    f'metadata.name: names ending with "{_STATIC}" are reserved for static manifest-based configurations and cannot be '
    "managed via the API"
)


class _Configuration(Strategy, ABC):
    """What all of them have in common: a counted generation, and no update without a version."""

    allow_unconditional_update = False
    _content: str

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The first generation, without a status."""
        obj["metadata"]["generation"] = 1

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Count changes of the content."""
        if new.get(self._content) != old.get(self._content):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The rules for the content."""
        return self._errors(obj, None, call)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for the content, less what was broken before."""
        return self._errors(new, old, call)

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Some names belong to configurations in files."""
        return [_RESERVED] if (obj["metadata"].get("name") or "").endswith(_STATIC) else []

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """Some names belong to configurations in files."""
        return self.warn_create(new, call)

    @abstractmethod
    def _errors(self, obj: JsonObject, old: JsonObject | None, call: Call) -> list[FieldError]:
        """What is wrong with the content."""


class WebhookConfigurationStrategy(_Configuration):
    """MutatingWebhookConfiguration and ValidatingWebhookConfiguration."""

    _content = "webhooks"

    def __init__(self, *, mutating: bool) -> None:
        self._mutating = mutating

    def default(self, obj: JsonObject) -> None:
        """Webhooks match everything that their rules name, count when they fail, and have ten seconds."""
        for hook in obj.get("webhooks") or ():
            if hook.get("failurePolicy") is None:
                hook["failurePolicy"] = "Fail"
            default_matching(hook)
            if hook.get("timeoutSeconds") is None:
                hook["timeoutSeconds"] = 10
            if self._mutating and hook.get("reinvocationPolicy") is None:
                hook["reinvocationPolicy"] = "Never"
            service = (hook.get("clientConfig") or {}).get("service")
            if service is not None and service.get("port") is None:
                service["port"] = 443
            default_rules(hook.get("rules"))

    def _errors(self, obj: JsonObject, old: JsonObject | None, call: Call) -> list[FieldError]:
        from nagaya.apiserver.builtins.kinds.admission_webhooks import configuration_errors

        return configuration_errors(obj, old)


class PolicyStrategy(_Configuration):
    """ValidatingAdmissionPolicy and MutatingAdmissionPolicy."""

    _content = "spec"

    def __init__(self, *, mutating: bool) -> None:
        self._mutating = mutating
        self.reset_fields = () if mutating else ("status",)

    def default(self, obj: JsonObject) -> None:
        """Failures count, and everything that the rules name is matched."""
        spec = obj.setdefault("spec", {})
        if spec.get("failurePolicy") is None:
            spec["failurePolicy"] = "Fail"
        _default_match(spec.get("matchConstraints"))

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The first generation, without a status."""
        super().prepare_create(obj, call)
        if not self._mutating:
            obj["status"] = {}

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep the status and count changes of the content."""
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
        super().prepare_update(new, old, call)

    def _errors(self, obj: JsonObject, old: JsonObject | None, call: Call) -> list[FieldError]:
        from nagaya.apiserver.builtins.kinds.admission_policies import policy_errors

        return policy_errors(obj, old, call, mutating=self._mutating)


class PolicyStatusStrategy(StatusStrategy):
    """The status of a ValidatingAdmissionPolicy: what type checking found."""

    reset_fields = ("metadata", "spec")

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """Warnings say what they are about."""
        errors: list[FieldError] = []
        checking = (new.get("status") or {}).get("typeChecking") or {}
        for position, warning in enumerate(checking.get("expressionWarnings") or ()):
            path = Path("status.typeChecking.expressionWarnings").index(position)
            if not warning.get("warning"):
                errors.append(required(path.child("warning")))
            if not (warning.get("fieldRef") or "").strip():
                errors.append(required(path.child("fieldRef")))
        return errors


class BindingStrategy(_Configuration):
    """ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding."""

    _content = "spec"

    def __init__(self, *, mutating: bool) -> None:
        self._mutating = mutating

    def default(self, obj: JsonObject) -> None:
        """Everything that the rules name is matched."""
        _default_match((obj.get("spec") or {}).get("matchResources"))

    def _errors(self, obj: JsonObject, old: JsonObject | None, call: Call) -> list[FieldError]:
        from nagaya.apiserver.builtins.kinds.admission_policies import binding_errors

        return binding_errors(obj, old, call, mutating=self._mutating)


def _default_match(match: JsonObject | None) -> None:
    if match is not None:
        default_matching(match)
        default_rules(match.get("resourceRules"))
        default_rules(match.get("excludeResourceRules"))


_POLICY: Final = PolicyStrategy(mutating=False)

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource(_GROUP, "mutatingwebhookconfigurations"): Kind(WebhookConfigurationStrategy(mutating=True)),
    GroupResource(_GROUP, "validatingwebhookconfigurations"): Kind(WebhookConfigurationStrategy(mutating=False)),
    GroupResource(_GROUP, "validatingadmissionpolicies"): Kind(_POLICY, {"status": PolicyStatusStrategy(_POLICY)}),
    GroupResource(_GROUP, "validatingadmissionpolicybindings"): Kind(BindingStrategy(mutating=False)),
    GroupResource(_GROUP, "mutatingadmissionpolicies"): Kind(PolicyStrategy(mutating=True)),
    GroupResource(_GROUP, "mutatingadmissionpolicybindings"): Kind(BindingStrategy(mutating=True)),
}
