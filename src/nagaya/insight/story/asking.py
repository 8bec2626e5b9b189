"""Asking Proxmox VE how tasks ended, and for the end of their logs, with the credentials of the machines' connection.

Each connection is opened once and only read from. What cannot be had becomes the answer itself: a story with a gap is
better than none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from nagaya.api.proxmox.proxmox_virtual_machine import NamespacedConnectionReference
from nagaya.api.proxmox.references import SecretReference
from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.client.task_state import Phase, TaskState
from nagaya.infrastructure.proxmox.connection.opening import Opener, opened
from nagaya.infrastructure.proxmox.connection.reference import (
    CONNECTION,
    NoConnection,
    Reference,
    read_reference,
    secret_reference,
)
from nagaya.insight.picture.picture import Picture
from nagaya.insight.story.tasks import Task
from nagaya.insight.story.told import Told
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError
from nagaya.kube.key import Key
from nagaya.world import World


async def ask(
    client: Client, world: World, picture: Picture, tasks: Collection[Task], open: Opener | None = None
) -> dict[str, Told]:
    """What Proxmox VE says of each task, by its UPID. `open`: how a data center is reached, for tests."""
    if not tasks:
        return {}
    reference = _reference(picture)
    if reference is None:
        why = f"nobody says which Proxmox VE Cluster {picture.cluster.name} is on"
        return {each.upid.text: _unknown(why) for each in tasks}
    try:
        proxmox = (await opened(client, world, reference, open)).proxmox
    except (NoConnection, ApiError) as error:
        return {each.upid.text: _unknown(str(error)) for each in tasks}
    try:
        answers = await asyncio.gather(*(_ask(proxmox, each) for each in tasks))
    finally:
        await proxmox.close()
    return {each.upid.text: told for each, told in zip(tasks, answers, strict=True)}


def _reference(picture: Picture) -> Reference | None:
    for each in picture.of_kind("ProxmoxVirtualMachine"):
        name, namespace = each.text("spec", "connectionRef", "name"), each.text("spec", "connectionRef", "namespace")
        if name:
            kind = each.text("spec", "connectionRef", "kind") or None
            written = NamespacedConnectionReference(namespace=namespace, name=name, kind=kind)
            return read_reference(written, each.text("spec", "machineRef", "namespace"))
    for each in picture.of_kind("ProxmoxCluster"):
        if name := each.text("spec", "connectionRef", "name"):
            return Reference(CONNECTION, Key(each.namespace, name))
        if name := each.text("spec", "credentialsRef", "name"):
            named = SecretReference(name=name, namespace=each.text("spec", "credentialsRef", "namespace"))
            return secret_reference(named, each.namespace)
    return None


async def _ask(proxmox: Proxmox, task: Task) -> Told:
    try:
        state = await proxmox.tasks.ask(task.upid)
        log = state.log or (() if state.phase is Phase.VANISHED else await proxmox.tasks.log(task.upid))
    except ProxmoxError as error:
        return _unknown(error.why)
    return Told(_outcome(state), state.phase is Phase.FAILED, log)


def _outcome(state: TaskState) -> str:
    match state.phase:
        case Phase.RUNNING:
            return "runs still"
        case Phase.SUCCEEDED:
            return f"succeeded with {state.exitstatus}" if state.warnings else "succeeded"
        case Phase.FAILED:
            return f"failed: {state.exitstatus}"
        case Phase.VANISHED:
            return "is not known to its host any more"


def _unknown(why: str) -> Told:
    return Told(f"how it went cannot be asked: {why.rstrip('.')}")
