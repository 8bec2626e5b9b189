"""Service CIDRs: the networks from which services get their addresses."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStatusStrategy, OrderedStrategy, Step
from nagaya.apiserver.meta import addresses
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

_CIDRS: Final = Path("spec").child("cidrs")


class ServiceCIDRStrategy(OrderedStrategy):
    """ServiceCIDR."""

    status_apart = True
    reset_fields = ("status",)
    update_steps = (Step.METADATA_CHANGES, Step.CHANGES)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """One network, or one of each family."""
        networks: list[str] = obj["spec"].get("cidrs") or []
        if not networks:
            return [required(_CIDRS, "at least one CIDR required")]
        if len(networks) > 2:
            return [invalid(_CIDRS, {"CIDRs": networks}, "may only hold up to 2 values")]
        errors: list[FieldError] = []
        for position, network in enumerate(networks):
            errors += addresses.validate_network(_CIDRS.index(position), network)
        families = [_family(network) for network in networks]
        if len(networks) == 2 and families[0] is not None and families[0] == families[1]:
            detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            errors.append(invalid(_CIDRS, networks, detail))
        return errors

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """A network stays; one of the other family may join it."""
        mine: list[str] = new["spec"].get("cidrs") or []
        before: list[str] = old["spec"].get("cidrs") or []
        if len(mine) != len(before) and (len(before), len(mine)) != (1, 2):
            return [invalid(_CIDRS, mine or None, IMMUTABLE)]
        errors = [
            invalid(_CIDRS.index(position), mine[position], IMMUTABLE)
            for position, network in enumerate(before)
            if network != mine[position]
        ]
        return errors if len(mine) == len(before) else errors + self.rules(new, None)


class ServiceCIDRStatusStrategy(OrderedStatusStrategy):
    """Writes to a service CIDR's status."""


def _family(network: str) -> int | None:
    parsed = addresses.parse_network(network)
    return None if parsed is None else parsed[1].version
