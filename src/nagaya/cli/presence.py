"""That controllers run in the management API's own process, told in the API itself.

Two sets of controllers on one API work against each other, and people who know the commands one by one start a second
set easily. So `nagaya up` writes a Lease at each start, or removes it where it runs no controllers. Nobody has to renew
it: whoever can read it talks to the process that wrote it last.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from os import fsdecode, getpid
from pathlib import Path
from typing import Final

from nagaya.clusters.leases import BESIDE_API
from nagaya.kube.client import Client
from nagaya.kube.election import LEASES
from nagaya.kube.errors import Forbidden, NotFound
from nagaya.kube.patches import Apply

_HOLDER: Final = re.compile(r"process (?P<pid>\d+) on (?P<host>.+)")


async def announce(client: Client) -> None:
    """This process runs the controllers."""
    holder = f"process {getpid()} on {socket.gethostname()}"
    content = {"spec": {"holderIdentity": holder}}
    await client.patch(LEASES, *BESIDE_API, Apply(content, client.field_manager, force=True))


async def withdraw(client: Client) -> None:
    """It does not."""
    try:
        await client.delete(LEASES, *BESIDE_API)
    except NotFound:
        return


async def announced(client: Client) -> str:
    """Which process runs them; empty if none has said so, or nobody may know."""
    try:
        return (await client.get(LEASES, *BESIDE_API)).spec.holder_identity or ""
    except (NotFound, Forbidden):
        return ""


async def environment(client: Client) -> Mapping[str, str] | None:
    """The variables with which the process that runs them was started, if it is on this machine and we may look.

    None if it is not: what is on the machine of the controllers cannot be seen from here then.
    """
    told = _HOLDER.fullmatch(await announced(client))
    if told is None or told["host"] != socket.gethostname():
        return None
    return _environment(int(told["pid"]))


def _environment(pid: int) -> Mapping[str, str] | None:
    try:
        given = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    pairs = (fsdecode(each).partition("=") for each in given.split(b"\0"))
    return {name: value for name, equals, value in pairs if equals}
