"""Everything that is served at the moment.

Built-in resources are entered once; those of CustomResourceDefinitions come, change and go. Whoever derives something
from the whole (discovery and OpenAPI documents, the garbage collector's list of what can own) compares `generation`
with the one it derived from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nagaya.apiserver.meta.gvk import GroupResource, GroupVersion, GroupVersionKind
from nagaya.apiserver.registry.resource import Resource


class Catalog:
    """Resources by the name in a URL and by kind."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str, str], Resource] = {}
        self._versions: dict[tuple[str, str], int] = {}
        self.generation = 0

    def get(self, group: str, version: str, resource: str) -> Resource | None:
        """The resource that a URL names."""
        return self._by_name.get((group, version, resource))

    def by_kind(self, kind: GroupVersionKind) -> Resource | None:
        """The resource whose objects say they are of that kind."""
        return self._by_kind.get(kind)

    def preferred(self, resource: GroupResource) -> Resource | None:
        """The resource in any version; the first entered wins."""
        for each in self._by_name.values():
            if each.group_resource == resource:
                return each
        return None

    def has_version(self, version: GroupVersion) -> bool:
        """Whether anything is served under that group and version."""
        return version in self._versions

    def add(self, resources: Iterable[Resource]) -> None:
        """Serve these, in place of what has the same names."""
        for each in resources:
            self._discard(each.gvr)
            self._by_name[each.gvr] = each
            self._by_kind.setdefault(each.gvk, each)
            self._versions[each.group_version] = self._versions.get(each.group_version, 0) + 1
        self.generation += 1

    def replace(self, old: Iterable[Resource], new: Iterable[Resource]) -> None:
        """Stop serving some and serve others instead, with no moment in between."""
        for each in old:
            if self._by_name.get(each.gvr) is each:
                self._discard(each.gvr)
        self.add(new)

    def _discard(self, gvr: tuple[str, str, str]) -> None:
        gone = self._by_name.pop(gvr, None)
        if gone is None:
            return
        if self._by_kind.get(gone.gvk) is gone:
            del self._by_kind[gone.gvk]
        left = self._versions[gone.group_version] - 1
        if left:
            self._versions[gone.group_version] = left
        else:
            del self._versions[gone.group_version]

    def __iter__(self) -> Iterator[Resource]:
        return iter(list(self._by_name.values()))
