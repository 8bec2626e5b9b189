"""A kind as an API server judges it: defaults, schema and rules of its CRD, without a server."""

from __future__ import annotations

from typing import Any

from nagaya.api.crd import render
from nagaya.api.definition import Definition
from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.crd.resource import CustomResource


class ServedKind:
    """What becomes of objects of a kind."""

    def __init__(self, definition: Definition) -> None:
        (version,) = render(definition)["spec"]["versions"]
        self._api_version = definition.kind.api_version
        self._kind = definition.kind.kind
        self._resource = CustomResource(self._kind, version, compile_rules)

    def stored(self, spec: dict[str, Any]) -> dict[str, Any]:
        """An object as it is stored: with its defaults, without what nobody knows."""
        body = {"apiVersion": self._api_version, "kind": self._kind, "metadata": {"name": "one"}, "spec": spec}
        found, _ = self._resource.decode(body)
        return found

    def problems(self, spec: dict[str, Any], before: dict[str, Any] | None = None) -> list[str]:
        """What is wrong with an object, or with a change of it."""
        new = self.stored(spec)
        validator = self._resource.validator
        if before is None:
            return [str(each) for each in validator.validate(new, [])]
        return [str(each) for each in validator.validate_update(new, self.stored(before), [], [])]
