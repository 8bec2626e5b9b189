"""What many servers of a process have in common, made once and shared.

The default roles are most of what a new server holds and most of the work of starting one, and they are the same
everywhere. A seed is those records of one server that say nothing about that server; another begins with them instead
of making its own. Records never change, so sharing them is safe, and a server that changes one has its own from then
on.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.storage import Record, Retention, Store
from nagaya.apiserver.storage.contents import Contents

_COMMON: Final = (
    "rbac.authorization.k8s.io/clusterroles",
    "rbac.authorization.k8s.io/clusterrolebindings",
    "rbac.authorization.k8s.io/roles",
    "rbac.authorization.k8s.io/rolebindings",
    "scheduling.k8s.io/priorityclasses",
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
    "flowcontrol.apiserver.k8s.io/flowschemas",
)


class Seed:
    """The common records of a server that has just started and settled."""

    def __init__(self, store: Store) -> None:
        self._revision = store.revision
        self._tables: dict[str, dict[str, Record]] = {}
        for name in _COMMON:
            self._tables[name] = {record.key: record for record in store.list(name).records}

    def contents(self) -> Contents:
        """Contents for a new server in memory. Its history begins after the seed."""
        made = Contents(Retention(), self._revision, self._revision)
        for name, records in self._tables.items():
            table = made.table(name)
            table.records.update(records)
            table.keys.extend(records)
        return made
