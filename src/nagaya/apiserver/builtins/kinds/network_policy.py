"""Network policies: who may talk to the pods of a namespace, and to whom they may talk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step
from nagaya.apiserver.meta import addresses
from nagaya.apiserver.meta.field_errors import FieldError, Path
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

DIRECTIONS: Final = (("ingress", "from"), ("egress", "to"))
_SPEC: Final = Path("spec")


class NetworkPolicyStrategy(OrderedStrategy):
    """NetworkPolicy."""

    namespaced = True
    counts_generations = True
    update_steps = (Step.METADATA_CHANGES, Step.RULES)

    def default(self, obj: JsonObject) -> None:
        """Ports are of TCP; a policy is about what comes in, and about what goes out if it has a rule for that."""
        spec = obj["spec"]
        for direction, _ in DIRECTIONS:
            for rule in spec.get(direction) or ():
                for port in rule.get("ports") or ():
                    port.setdefault("protocol", "TCP")
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Selectors, ports and networks."""
        from nagaya.apiserver.builtins.kinds import network_policy_rules

        return network_policy_rules.rules(obj["spec"], old["spec"] if old else None)

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Networks in odd forms."""
        return [
            warning
            for where, block in blocks(obj["spec"])
            for place, network in networks(block, where)
            for warning in addresses.network_warnings(place, network)
        ]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return self.warn_create(new, call)


def blocks(spec: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    """The networks that a policy names, and where."""
    for direction, peers in DIRECTIONS:
        for position, rule in enumerate(spec.get(direction) or ()):
            where = _SPEC.child(direction).index(position).child(peers)
            for each, peer in enumerate(rule.get(peers) or ()):
                if "ipBlock" in peer:
                    yield where.index(each).child("ipBlock"), peer["ipBlock"]


def networks(block: dict[str, Any], where: Path) -> Iterator[tuple[Path, str]]:
    """A network and what is left out of it, and where they stand."""
    yield where.child("cidr"), block["cidr"]
    for position, network in enumerate(block.get("except") or ()):
        yield where.child("except").index(position), network
