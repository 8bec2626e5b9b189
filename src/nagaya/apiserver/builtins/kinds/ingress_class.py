"""Ingress classes: who serves the ingresses that name them."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, immutable
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required, too_long
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")
_CONTROLLER: Final = _SPEC.child("controller")
_LONGEST_CONTROLLER: Final = 250
_SCOPES: Final = ("Cluster", "Namespace")


class IngressClassStrategy(OrderedStrategy):
    """IngressClass."""

    counts_generations = True

    def default(self, obj: JsonObject) -> None:
        """Parameters are cluster-scoped unless they say otherwise."""
        parameters = obj["spec"].get("parameters")
        if parameters is not None and parameters.get("scope") is None:
            parameters["scope"] = "Cluster"

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """The controller stays."""
        return immutable(_CONTROLLER, new["spec"].get("controller") or "", old["spec"].get("controller") or "")

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """A controller with a domain, and parameters that can be found."""
        controller = obj["spec"].get("controller") or ""
        errors = [too_long(_CONTROLLER, _LONGEST_CONTROLLER)] if names.size(controller) > _LONGEST_CONTROLLER else []
        errors += domain_prefixed_path(controller, _CONTROLLER)
        if (parameters := obj["spec"].get("parameters")) is not None:
            errors += _parameters(parameters, _SPEC.child("parameters"))
        return errors


def domain_prefixed_path(text: str, where: Path) -> list[FieldError]:
    """What is wrong with a text that has to be a domain, a slash and a path."""
    if not text:
        return [required(where)]
    domain, _, path = text.partition("/")
    if not domain or not path:
        return [invalid(where, text, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    return [invalid(where, domain, problem) for problem in names.dns_subdomain(domain)] + [
        invalid(where, path, problem) for problem in names.http_path(path)
    ]


def _parameters(parameters: JsonObject, where: Path) -> list[FieldError]:
    from nagaya.apiserver.builtins.kinds import ingress_rules

    errors = ingress_rules.reference(parameters, where)
    scope, namespace, place = parameters["scope"], parameters.get("namespace"), where.child("namespace")
    if scope not in _SCOPES:
        return [*errors, not_supported(where.child("scope"), scope, _SCOPES)]
    if scope == "Cluster":
        found = [] if namespace is None else [forbidden(place, "`parameters.scope` is set to 'Cluster'")]
    elif namespace is None:
        found = [required(place, "`parameters.scope` is set to 'Namespace'")]
    else:
        found = [invalid(place, namespace, problem) for problem in names.dns_label(namespace)]
    return errors + found
