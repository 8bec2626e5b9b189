"""`nagaya why` in the process of a test: what it would print of an object, and the values behind that."""

from __future__ import annotations

from typing import Protocol

from nagaya.cli.output.explanation import told
from nagaya.infrastructure.proxmox.connection.opening import Opener
from nagaya.insight.cause.explanation import Explanation, explain
from nagaya.insight.cause.read import read_subject, read_surroundings, with_logs
from nagaya.insight.picture.read import read_kinds
from nagaya.kube.client import Client
from nagaya.world import World


class Plane(Protocol):
    """What is asked: a lab, or a town."""

    client: Client
    world: World
    namespace: str


async def explained(plane: Plane, what: str, open: Opener | None = None) -> tuple[Explanation, str]:
    """The explanation of KIND/NAME, and its text as in a pipe."""
    kind, _, name = what.partition("/")
    kinds = await read_kinds(plane.client)
    subject = await read_subject(plane.client, kinds, kind, plane.namespace, name)
    around = await read_surroundings(plane.client, kinds, subject, plane.world.clock.now())
    found = explain(around, subject)
    if open is not None:
        around = await with_logs(plane.client, plane.world, around, found.tasks, open)
        found = explain(around, subject)
    return found, "\n".join(line for line, _ in told(found, around.now, None))
