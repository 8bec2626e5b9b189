"""Where the controllers run that announced themselves, and what can be seen of that machine from here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from nagaya.cli import presence
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.programs_beside import absent_beside
from nagaya.clusters.leases import BESIDE_API
from nagaya.kube.client import Client
from nagaya.kube.election import LEASES
from nagaya.kube.patches import Merge
from support.prepared import start_prepared
from support.virtual_run import run, virtual_world

PROGRAMS = ("kube-apiserver", "etcd")


async def _told(holder: str) -> tuple[bool, list[str] | None]:
    """Whether the variables of a process can be seen, and which programs are missing beside it."""
    world = virtual_world(1)
    server = await start_prepared(world)
    client = Client(InProcessTransport(server), world=world)
    try:
        await presence.announce(client)
        if holder:
            await client.patch(LEASES, *BESIDE_API, Merge({"spec": {"holderIdentity": holder}}))
        found, absent = await presence.environment(client), await absent_beside(client)
        return bool(found), None if absent is None or not holder else list(absent("v1.2.3", PROGRAMS))
    finally:
        await client.close()
        await server.stop()


def test_a_process_of_this_machine_is_looked_at_with_its_own_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Those of this command are others: what the process was started with counts.
    monkeypatch.setenv("NAGAYA_KUBERNETES_BIN", str(tmp_path / "nowhere"))
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"XDG_CACHE_HOME": str(tmp_path)}
    ) as process:
        holder = f"process {process.pid} on {socket.gethostname()}"
        assert run(_told(holder)) == (True, ["etcd", "kube-apiserver"])
        process.communicate(b"\n")


def test_who_announces_itself_here_is_known() -> None:
    assert run(_told(""))[0]


@pytest.mark.parametrize(
    "holder",
    [f"process {os.getpid()} on elsewhere", f"process 4194305 on {socket.gethostname()}", "somebody"],
    ids=["another machine", "a process that has ended", "words of somebody else"],
)
def test_of_any_other_nothing_is_known(holder: str) -> None:
    assert run(_told(holder)) == (False, None)
