"""That controllers run in the management API's own process, told in the API itself.

Two sets of controllers on one API work against each other, and people who know the commands one by one start a second
set easily. So `nagaya up` writes a Lease at each start, or removes it where it runs no controllers. Nobody has to renew
it: whoever can read it talks to the process that wrote it last.
"""

from __future__ import annotations

import socket
from os import getpid

from nagaya.clusters.leases import BESIDE_API
from nagaya.kube.client import Client
from nagaya.kube.election import LEASES
from nagaya.kube.errors import Forbidden, NotFound
from nagaya.kube.patches import Apply


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
