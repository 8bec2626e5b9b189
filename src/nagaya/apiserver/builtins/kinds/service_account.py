"""ServiceAccounts: identities for programs."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.core_strategy import CoreStrategy
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_ENFORCE_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(CoreStrategy):
    """ServiceAccount."""

    returns_deleted = True

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Of its secrets an account keeps the names alone."""
        _keep_names(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The same."""
        _keep_names(new)

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """An annotation that is on its way out."""
        return _warnings(obj, None)

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same, when it is new."""
        return _warnings(new, old)


def _keep_names(account: JsonObject) -> None:
    if secrets := account.get("secrets"):
        account["secrets"] = [{"name": each["name"]} if each.get("name") else {} for each in secrets]


def _warnings(account: JsonObject, old: JsonObject | None) -> list[str]:
    if old is not None and _ENFORCE_MOUNTABLE in (old["metadata"].get("annotations") or {}):
        return []
    if _ENFORCE_MOUNTABLE not in (account["metadata"].get("annotations") or {}):
        return []
    return [
        f"metadata.annotations[{_ENFORCE_MOUNTABLE}]: deprecated in v1.32+; "
        "prefer separate namespaces to isolate access to mounted secrets"
    ]
