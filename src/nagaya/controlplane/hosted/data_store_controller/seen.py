"""Everything that a decision about a DataStore may depend on, read at one moment from caches alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.clusters.external import keep
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

BY_STORE: Final = "data store"
"""The index of control planes by the DataStore that they refer to, or have data in."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A DataStore and who needs it."""

    store: DataStore
    used_by: tuple[str, ...]
    """The control planes that have, or are about to have, data there, as namespace/name; sorted."""
    is_wanted: bool
    """Whether a control plane refers to it."""
    is_known: bool
    """Whether its process was started before, in this life of ours or another."""
    now: datetime


def add_index(cache: Cache) -> None:
    """Have control planes found by their DataStore. They are kept from here on."""
    keep(cache, (DATA_STORES, HOSTED_CONTROL_PLANES))
    cache.add_index(HOSTED_CONTROL_PLANES, BY_STORE, stores_of)


def stores_of(plane: HostedControlPlane) -> Iterable[str]:
    """The DataStores that a control plane refers to, or has data in: at most two."""
    return tuple({name for name in (plane.spec.data_store_ref.name, plane.store_name) if name})


def observe(rt: Runtime, store: DataStore, *, is_known: bool) -> Seen:
    """A DataStore as it is now."""
    name = store.metadata.name
    near = rt.cache.by(HOSTED_CONTROL_PLANES, BY_STORE, name)
    users = [each for each in near if each.store_name == name]
    wanted = any(each.spec.data_store_ref.name == name and not each.metadata.deleting for each in near)
    used_by = tuple(sorted(str(Key.of(each)) for each in users))
    return Seen(store, used_by, wanted or bool(users), is_known, rt.world.clock.now())
