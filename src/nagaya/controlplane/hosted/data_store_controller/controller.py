"""The DataStore controller: is it there, how is it, who needs it.

A store says nothing by itself when it goes away, so it is asked from time to time. What always holds: a store is never
stopped or removed while a control plane has data there, and one that does not answer is only told to be so; files of
somebody else are not touched, and nothing empty is begun in place of what was moved here and is elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from nagaya.api.cluster.pause import why_paused
from nagaya.api.controlplane.data_store import DATA_STORES, FINALIZER, SQLITE, DataStore
from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.binaries.releases import DEFAULT_VERSION
from nagaya.clusters.finalizer import release
from nagaya.clusters.news import is_news
from nagaya.clusters.pause import status_while_paused
from nagaya.controlplane.hosted.data_store.driver import Driver, Health
from nagaya.controlplane.hosted.data_store.errors import StoreError
from nagaya.controlplane.hosted.data_store.etcd import EtcdDriver
from nagaya.controlplane.hosted.data_store.managed_etcd import DATA, PROCESS, ManagedEtcd
from nagaya.controlplane.hosted.data_store.sqlite import SqliteDriver
from nagaya.controlplane.hosted.data_store.upkeep import keep_up
from nagaya.controlplane.hosted.data_store_controller.credentials import NotUsable, external_driver
from nagaya.controlplane.hosted.data_store_controller.plan import Verb, plan
from nagaya.controlplane.hosted.data_store_controller.refusal import refusal
from nagaya.controlplane.hosted.data_store_controller.seen import Seen, add_index, observe, stores_of
from nagaya.controlplane.hosted.data_store_controller.status import CONDITIONS, FIELDS, status
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.host import ownership
from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.ownership import Claim, Owner, Standing
from nagaya.controlplane.hosted.host.users import NoUserLeft
from nagaya.kube.cache.change import Change
from nagaya.kube.controller import Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.supervision.errors import FolderInUse, SupervisionError
from nagaya.supervision.events import Event, Exited, Ready
from nagaya.supervision.folders import remove
from nagaya.supervision.status import State

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-datastore"
ASK: Final = 10.0
"""Seconds between two questions to a store that is well: nothing else tells why its control planes do not answer."""
ASK_SOON: Final = 3.0
"""And to one that is not: control planes wait for it."""
UPKEEP: Final = 600.0
"""Seconds between two looks at what a store of ours needs done."""


class DataStores:
    """Looks after DataStores."""

    def __init__(self, rt: Runtime, host: Host, stores: Stores) -> None:
        self._rt = rt
        self._host = host
        self._stores = stores
        self._api = rt.api(MANAGER)
        self._kept_up: dict[str, float] = {}
        self._prepared: dict[str, ManagedEtcd] = {}
        add_index(rt.cache)
        self.controller = Controller(
            "datastore",
            DATA_STORES,
            self.reconcile,
            watches=(Watch(HOSTED_CONTROL_PLANES, _of_plane),),
            on_stop=host.close,
        )
        host.subscribe(self._heard, self._look_at_all)

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one store."""
        store = self._rt.cache.get(DATA_STORES, key)
        if store is None:
            return None
        try:
            await self._host.start()
        except (SupervisionError, OSError, ValueError) as error:
            in_use = isinstance(error, FolderInUse)
            reason = DataStoreReason.FOLDER_IN_USE if in_use else DataStoreReason.INTERNAL_ERROR
            await self._tell(observe(self._rt, store, is_known=False), Health(reason, str(error)))
            return Result(ASK_SOON)
        if why := why_paused(None, store, DATA_STORES.kind):
            if store.is_kept_here:
                await asyncio.to_thread(self._host.note_pause, store.metadata, store.store_id, self._folder(store))
            paused = status_while_paused(store, why, self._rt.world.clock.now())
            await self._api.status(DATA_STORES, store, paused, conditions=CONDITIONS, fields=FIELDS)
            return None
        seen = observe(self._rt, store, is_known=self._host.status(_process(store)) is not None)
        planned = plan(seen)
        if planned.verb is Verb.NOTHING:
            return None
        if planned.verb is Verb.HOLD:
            finalizers = (*store.metadata.finalizers, FINALIZER)
            store = await self._api.metadata(DATA_STORES, store, finalizers=finalizers)
            seen = replace(seen, store=store)
            planned = plan(seen)
        claim = self._claim(store)
        if claim.refused and planned.verb is not Verb.STOP:
            self._stores.forget(store.metadata.uid)
            await self._tell(seen, refusal(claim, self._host.settings.folder))
            return Result(ASK_SOON)
        if claim.refused:
            await release(self._rt, self._api, DATA_STORES, store, FINALIZER)
            return None
        if planned.verb is Verb.STOP:
            await self._tell(seen, Health(DataStoreReason.STARTING, planned.sentence))
            await self._remove(store)
            await release(self._rt, self._api, DATA_STORES, store, FINALIZER)
            return None
        if planned.verb is Verb.REST:
            await self._tell(seen, Health(DataStoreReason.STARTING, planned.sentence))
            return None
        if store.is_kept_here and not claim.recorded:
            # Before anything of it is made or touched.
            await asyncio.to_thread(ownership.write, self._folder(store), Owner.of(store.metadata))
        health = await self._reach(store)
        await self._tell(seen, health)
        return Result(ASK if health.is_ready else ASK_SOON)

    def _claim(self, store: DataStore) -> Claim:
        """Whether a DataStore may have the files that it goes on with, or begin some. Others have none."""
        if not store.is_kept_here:
            return Claim(Standing.OWN)
        return self._host.claim(store.metadata, store.store_id, self._folder(store))

    async def _reach(self, store: DataStore) -> Health:
        """Start it, where it is ours to start, and ask how it is."""
        try:
            driver = await self._driver(store)
            health = await driver.probe()
            if health.is_ready:
                self._stores.put(store.metadata.uid, driver)
                await self._keep_up(store, driver)
        except NotUsable as problem:
            return Health(problem.reason, str(problem))
        except StoreError as error:
            return Health(DataStoreReason.NOT_HEALTHY, str(error))
        return health

    async def _driver(self, store: DataStore) -> Driver:
        if store.spec.driver == SQLITE:
            return SqliteDriver(self._folder(store), self._rt.world, self._host.users.give)
        if not store.spec.managed:
            return await external_driver(self._rt.client, store, self._rt.world)
        programs = self._host.programs(DEFAULT_VERSION, (PROCESS,))
        if not programs.there:
            reason = DataStoreReason.BINARIES_MISSING if programs.failed else DataStoreReason.STARTING
            raise NotUsable(reason, programs.message)
        folder = self._folder(store)
        try:
            user = await asyncio.to_thread(self._host.users.give, store.store_id, folder / DATA)
        except NoUserLeft as error:
            raise NotUsable(DataStoreReason.INTERNAL_ERROR, str(error)) from error
        before = self._prepared.get(store.metadata.uid)
        etcd = await asyncio.to_thread(
            ManagedEtcd.prepare, folder, programs.paths[PROCESS], self._rt.world, before=before, user=user
        )
        self._prepared[store.metadata.uid] = etcd
        name = _process(store)
        await self._host.run(replace(etcd.spec(), name=name))
        status = self._host.status(name)
        if status is None or status.state is not State.READY:
            words = self._host.last_words(name) if status is not None and status.state is State.WAITING else ""
            message = f"etcd is being started. {status.reason if status else ''} {words}".strip()
            raise NotUsable(DataStoreReason.STARTING, message)
        return etcd.driver()

    async def _keep_up(self, store: DataStore, driver: Driver) -> None:
        """Only stores of our own: what those of others need done is theirs to do."""
        now = self._rt.world.clock.monotonic()
        uid = store.metadata.uid
        if not store.spec.managed or not isinstance(driver, EtcdDriver) or now < self._kept_up.get(uid, 0.0):
            return
        self._kept_up[uid] = now + UPKEEP
        done = await keep_up(driver)
        log.debug("DataStore %s: %s", store.metadata.name, done.sentence)

    async def _remove(self, store: DataStore) -> None:
        self._stores.forget(store.metadata.uid)
        self._kept_up.pop(store.metadata.uid, None)
        self._prepared.pop(store.metadata.uid, None)
        if not store.is_kept_here:
            return
        await self._host.forget(_process(store))
        folder = self._folder(store)
        if folder.exists():
            await asyncio.to_thread(remove, folder)
        await asyncio.to_thread(self._host.users.forget, store.store_id)

    def _folder(self, store: DataStore) -> Path:
        return self._host.store_folder(store.store_id)

    async def _tell(self, seen: Seen, health: Health) -> None:
        await self._api.status(DATA_STORES, seen.store, status(seen, health), conditions=CONDITIONS, fields=FIELDS)

    def _heard(self, uid: str, event: Event) -> None:
        if isinstance(event, Ready | Exited):
            stores = self._rt.cache.list(DATA_STORES)
            self.controller.look_at(Key.of(each) for each in stores if each.store_id == uid)

    def _look_at_all(self) -> None:
        self.controller.look_at(Key.of(each) for each in self._rt.cache.list(DATA_STORES))


def _process(store: DataStore) -> str:
    return f"{store.store_id}.{PROCESS}"


def _of_plane(change: Change[HostedControlPlane]) -> Iterable[Key]:
    """The stores of a control plane, if it came, went, or uses another."""
    if not is_news(change, lambda each: (stores_of(each), each.status.data_store is None, each.metadata.deleting)):
        return ()
    names = {name for each in (change.old, change.new) if each is not None for name in stores_of(each)}
    return [Key("", name) for name in sorted(names)]


def controller(rt: Runtime, host: Host, stores: Stores) -> Controller:
    """The controller, to be run by a manager."""
    return DataStores(rt, host, stores).controller
