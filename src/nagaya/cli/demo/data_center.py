"""The emulated data center of the demo: three hosts on ports of this machine, for as long as the process runs.

Its machines are gone when it ends, as nothing of them is real. What is kept is who it is: the authority of its hosts
and the token that it accepts, so that a connection that was made to it leads to the same data center the next time.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from nagaya.allowed_endpoints import Publication
from nagaya.apiserver.storage import DataInUse
from nagaya.apiserver.storage.sqlite.lock import DataLock
from nagaya.cli.demo.objects import DataCenterFacts
from nagaya.cli.output.ended import Ended
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import to_pem
from nagaya.pki.files import write_atomically
from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.control.web import ControlWeb
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.proxmox.guests.tenants import TenantGuests
from nagaya.simulators.proxmox.layouts.demo import POOL, TOKEN, demo
from nagaya.simulators.proxmox.web.certificates import authority
from nagaya.simulators.proxmox.web.web import served
from nagaya.simulators.tenant.shared import Shared
from nagaya.world import World

FOLDER: Final = "demo"
"""In the data folder."""
_IDENTITY: Final = "data-center.json"
_LOCK: Final = "lock"
_USER: Final = "root@pam"


@asynccontextmanager
async def data_center(folder: Path, world: World) -> AsyncIterator[DataCenterFacts]:
    """Run it. Raises Ended if another process does."""
    lock, publication = _locked(folder), Publication()
    try:
        known, signer = _identity(folder / _IDENTITY, world)
        emulator = Emulator(world, demo(world))
        emulator.datacenter.access.users[_USER].tokens[TOKEN].secret = known
        shared = Shared(publication=publication)
        clusters = Clusters(world, shared, listen=True, network=True)
        emulator.machines.backend = TenantGuests(world, emulator.pace, clusters)
        control = Control(emulator)
        ControlWeb(control)
        try:
            async with served(emulator, authority=signer) as web:
                control.manager.start()
                for url in web.endpoints.values():
                    publication.add(url.removeprefix("https://"))
                certificate = to_pem(signer.certificate).decode()
                yield DataCenterFacts([*web.endpoints.values()], f"{_USER}!{TOKEN}", known, certificate, POOL)
        finally:
            await control.close()
            await emulator.close()
    finally:
        publication.close()
        lock.release()


def _locked(folder: Path) -> DataLock:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return DataLock(folder / _LOCK)
    except DataInUse as error:
        raise Ended(f"The demo runs already: {error}.") from error


def runs(folder: Path) -> bool:
    """Whether a process runs it."""
    if not folder.is_dir():
        return False
    try:
        DataLock(folder / _LOCK).release()
    except DataInUse:
        return True
    return False


def _identity(file: Path, world: World) -> tuple[str, CertificateAuthority]:
    """The token's secret, and the authority of the hosts: those of the last time, or new ones."""
    if file.exists():
        kept: dict[str, Any] = json.loads(file.read_text())
        return kept["secret"], CertificateAuthority.load(kept["certificate"].encode(), kept["key"].encode())
    signer, secret = authority(world.clock), world.uid()
    kept = {
        "secret": secret,
        "certificate": to_pem(signer.certificate).decode(),
        "key": keys.to_pem(signer.key).decode(),
    }
    write_atomically(file, json.dumps(kept).encode())
    return secret, signer


def forget(folder: Path) -> None:
    """Nothing of it is left."""
    for name in (_IDENTITY, _LOCK):
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
