"""Pods stay for five minutes on a node that is not ready or unreachable, unless they say otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.pods import PODS

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS: Final = 300


class DefaultTolerations(Plugin):
    """Adds the tolerations that every pod has."""

    resources = PODS

    async def mutate(self, write: Attributes) -> None:
        """Add what is missing."""
        if write.subresource or write.object is None or write.operation not in ("CREATE", "UPDATE"):
            return
        spec = write.object["spec"]
        present = spec.get("tolerations") or []
        missing = [
            {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
            for taint in _TAINTS
            if not any(
                each.get("key", "") in (taint, "") and each.get("effect", "") in ("NoExecute", "") for each in present
            )
        ]
        if missing:
            write.object = {**write.object, "spec": {**spec, "tolerations": [*present, *missing]}}
