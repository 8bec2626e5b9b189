"""A new node takes no pods until someone says that it is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_NOT_READY: Final = "node.kubernetes.io/not-ready"


class NodeTaints(Plugin):
    """Taints new nodes."""

    resources = frozenset({"nodes"})

    async def mutate(self, write: Attributes) -> None:
        """Add the taint."""
        if write.operation != "CREATE" or write.subresource or write.object is None:
            return
        spec = write.object.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(each.get("key") == _NOT_READY and each.get("effect") == "NoSchedule" for each in taints):
            spec["taints"] = [*taints, {"key": _NOT_READY, "effect": "NoSchedule"}]
