"""The kinds of the group `scheduling.k8s.io`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.priority_class import PriorityClassStrategy
from nagaya.apiserver.meta.gvk import GroupResource

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource("scheduling.k8s.io", "priorityclasses"): Kind(PriorityClassStrategy()),
}
