"""IP addresses that are taken, each an object named after the address."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.status import JsonObject

_PARENT: Final = Path("spec").child("parentRef")


def name_is_address(name: str, prefix: bool = False) -> list[str]:
    """The rule for the names of IP addresses: the address in canonical form."""
    return [error.detail for error in addresses.validate_address("", name)]


class IPAddressStrategy(OrderedStrategy):
    """IPAddress."""

    name_check = staticmethod(name_is_address)
    suffixes_names = False
    update_steps = (Step.METADATA, Step.RULES, Step.METADATA_CHANGES, Step.CHANGES)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Who has the address stays."""
        from nagaya.apiserver.builtins.kinds.core_goshape import shape
        from nagaya.apiserver.builtins.kinds.ordered_strategy import immutable_shape

        parent = shape("Group=group:s Resource=resource:s Namespace=namespace:s Name=name:s")
        return immutable_shape(_PARENT, parent, new["spec"].get("parentRef"), old["spec"].get("parentRef"))

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Somebody has the address."""
        from nagaya.apiserver.builtins.kinds import ingress_rules

        parent = obj["spec"].get("parentRef")
        if parent is None:
            return [required(_PARENT)]
        errors: list[FieldError] = []
        if group := parent.get("group"):
            errors += [invalid(_PARENT.child("group"), group, problem) for problem in names.dns_subdomain(group)]
        for member in ("resource", "name"):
            errors += ingress_rules.segment(parent.get(member) or "", _PARENT.child(member))
        if namespace := parent.get("namespace"):
            errors += ingress_rules.segment(namespace, _PARENT.child("namespace"))
        return errors
