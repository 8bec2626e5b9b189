"""Every route, with parameters that mean something and some that do not: each gets an answer, and rights are kept."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from urllib.parse import quote

from nagaya.simulators.proxmox.calls.table import handlers
from nagaya.simulators.proxmox.failure import Unanswered
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.surface import Route, Schema, routes
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.virtual_run import run

KNOWN = {
    "node": ["pve1", "pve1", "pve2"],
    "vmid": ["100", "200", "201", "9000", "9998", "777"],
    "newid": ["300", "100"],
    "storage": ["store", "images2", "nosuch"],
    "userid": ["alice@pve", "nobody@pve"],
    "tokenid": ["sep", "new1"],
    "poolid": ["dev", "nosuch"],
    "roleid": ["PVEAdmin", "Mine"],
    "realm": ["pve", "nosuch"],
    "upid": ["UPID:pve1:00000786:000BB300:6AFA3A95:qmstop:802:root@pam:"],
    "volume": ["store:200/vm-200-disk-0.qcow2", "iso/x.iso"],
    "sid": ["vm:100", "vm:5"],
    "disk": ["scsi0", "scsi9"],
    "size": ["+1G", "2G"],
}
ANSWERS = {200, 400, 401, 403, 404, 500, 501, 595, 596}


def value(name: str, schema: Schema, chance: random.Random) -> str:
    if name in KNOWN:
        return chance.choice(KNOWN[name])
    if schema.enum:
        return chance.choice(schema.enum)
    if schema.type == "boolean":
        return chance.choice("01")
    if schema.type == "integer":
        least = int(schema.minimum or 0)
        return str(chance.randint(least, int(min(schema.maximum or 100, least + 50))))
    return chance.choice(["a", "1", "x y", "store:1", ""])


def requests(seed: int) -> Iterator[tuple[Route, str, dict[str, str]]]:
    """Each route with its path and some parameters."""
    chance = random.Random(seed)
    found = list(routes("9.2"))
    chance.shuffle(found)
    for route in found:
        if (route.method, route.path) == ("POST", "/nodes/{node}/status"):
            continue  # Nobody answers once it has turned the host off.
        properties = route.parameters.properties
        share = 0.3 if len(properties) < 30 else 0.03
        given = {
            name: value(name, schema, chance)
            for name, schema in properties.items()
            if f"{{{name}}}" in route.path or not schema.optional or chance.random() < share
        }
        path = route.path
        for name in re.findall(r"\{(.*?)\}", route.path):
            path = path.replace(f"{{{name}}}", quote(given.pop(name, "x"), safe=""))
        yield route, path, given


async def asked(lab: ProxmoxLab, route: Route, path: str, given: dict[str, str], **rest: dict[str, str]) -> int | None:
    try:
        return (await lab.ask(route.method, path, given, **rest)).status  # type: ignore[arg-type]  # headers
    except Unanswered:
        return None


def kept(datacenter: Datacenter) -> list[object]:
    """What nobody without rights may change."""
    return [
        datacenter.guests,
        datacenter.storages,
        datacenter.volumes,
        datacenter.pools,
        datacenter.access,
        datacenter.options,
        datacenter.ha,
        datacenter.mappings,
        datacenter.zones,
        datacenter.vnets,
    ]


def test_every_request_gets_an_answer_and_no_worker_breaks() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for route, path, given in requests(seed=1):
                status = await asked(lab, route, path, given)
                assert status in ANSWERS or (status is None and path.endswith("/upload")), (route.method, path, given)
            for task in lab.emulator.tasks.known.values():
                if task.worker is not None and task.worker.done() and not task.worker.cancelled():
                    assert task.worker.exception() is None, str(task.upid)

    run(main())


def test_who_has_no_rights_changes_nothing() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            before = copy.deepcopy(kept(lab.datacenter))
            for route, path, given in requests(seed=2):
                await asked(lab, route, path, given, headers=token("ops@pve!k1"))
                if route.method != "GET":
                    assert kept(lab.datacenter) == before, (route.method, path, given)

    run(main())


def test_every_handler_has_a_route() -> None:
    known = {(route.method, route.path) for route in routes("9.2")} | {
        (route.method, route.path) for route in routes("8.4")
    }
    assert handlers().keys() <= known
