"""The tunnel from a hosted control plane to a machine that nobody outside can connect to.

The machine refuses every connection that it did not open itself, as one behind a provider's NAT does. So whatever the
API server reaches there it reaches through the agent, which runs as our DaemonSet declares it: its image is made here
of the real program, under the name that the DaemonSet has.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nagaya.api.controlplane.hosted_arguments import KONNECTIVITY_AGENT, KONNECTIVITY_SERVER
from nagaya.binaries.installer import Binaries
from nagaya.controlplane.hosted.tenant.releases import release_of
from nagaya.simulators.netns.host import NetnsHost
from nagaya.simulators.netns.image import image_of
from nagaya.simulators.netns.machine import Machine
from nagaya.supervision.record import Record
from support.debian import machine_packages
from support.hosted_by_hand import PROGRAMS
from support.joining import PATIENCE, administrator, available, create, management, running_with
from support.lab import Lab, holds
from support.manifests.netns import OnNetns
from support.netns_leftovers import leftovers
from support.real import installed_binaries
from support.tenant_kubectl import TenantKubectl

pytestmark = pytest.mark.long("a real kubelet joins with kubeadm, and a tunnel is built")

CLUSTER, MACHINE = "cave", "cave-1"
KUBELET = 10250
POD_PORT = 8080
CLOSED = [f"iptables -A {chain} -i eth0 -p tcp --syn -j DROP" for chain in ("INPUT", "FORWARD")]
ADDONS = {"coreDNS": {"enabled": False}, "kubeProxy": {"enabled": False}, "konnectivity": {"enabled": True}}


def pod(image: str) -> dict[str, Any]:
    """The agent's program once more, without a tunnel: it says something, and answers at a port. That will do."""
    words = {
        "ca-cert": "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
        "health-server-port": POD_PORT,
        "proxy-server-host": "127.0.0.1",
    }
    container = {
        "name": "example",
        "image": image,
        "imagePullPolicy": "Never",
        "args": [f"--{name}={value}" for name, value in words.items()],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "example", "namespace": "default"},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
    }


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, because Unix sockets are in it."""
    with tempfile.TemporaryDirectory(prefix="nagaya-") as name:
        yield Path(name)


@pytest.fixture
def packages() -> Path | None:
    return machine_packages()


@pytest.fixture
def binaries() -> Binaries:
    return installed_binaries((*PROGRAMS, "kubelet", "kubeadm", KONNECTIVITY_SERVER, KONNECTIVITY_AGENT))


async def test_what_cannot_be_reached_is_reached_through_the_tunnel_also_after_each_end_was_killed(
    folder: Path, packages: Path | None, binaries: Binaries
) -> None:
    version = binaries.release.kubernetes
    agent = f"registry.k8s.io/kas-network-proxy/proxy-agent:{release_of(version).konnectivity}"
    images = [image_of(agent, binaries.path(KONNECTIVITY_AGENT).read_bytes(), "proxy-agent")]
    programs = [binaries.path(name) for name in ("kubelet", "kubeadm", "kubectl")]
    host = NetnsHost(folder / "machines", programs=programs, images=images, packages=packages)
    async with host, management(folder / "hosted", host) as lab:
        wanted = OnNetns(CLUSTER, version, control_plane={"addons": ADDONS})
        await create(lab, *wanted.cluster())
        kubectl = await administrator(lab, CLUSTER, binaries, folder)
        config, *rest = wanted.machine(MACHINE)
        config["spec"]["preKubeadmCommands"] = CLOSED
        await create(lab, config, *rest)
        await available(lab, host, MACHINE)
        await _cannot_be_reached(host.machines[MACHINE])

        manifest = folder / "pod.json"
        manifest.write_text(json.dumps(pod(agent)))
        await _works(lab, kubectl, "apply", "-f", str(manifest))
        await _is_reached(lab, kubectl)
        await _server_is_killed(lab, folder / "hosted")
        await _is_reached(lab, kubectl)
        await _agent_is_killed(lab, host)
        await _is_reached(lab, kubectl)
    assert leftovers(host) == []
    assert running_with(str(folder)) == []


async def _cannot_be_reached(machine: Machine) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.open_connection(str(machine.address.ip), KUBELET), 1.0)
    # It is not that nobody listens there.
    connect = f"import socket; socket.create_connection(('{machine.address.ip}', {KUBELET}), 60)"
    assert (await machine.run(["python3", "-c", connect])).code == 0


async def _is_reached(lab: Lab, kubectl: TenantKubectl) -> None:
    """Everything for which an API server connects to nodes and pods."""
    assert "ProxyServerHost set to" in await _works(lab, kubectl, "logs", "example")
    assert "--proxy-server-host" in await _works(lab, kubectl, "exec", "example", "--", "/proxy-agent", "--help")
    path = f"/api/v1/namespaces/default/pods/example:{POD_PORT}/proxy/healthz"
    assert await _works(lab, kubectl, "get", "--raw", path) == "ok"
    async with _forwarded(kubectl) as port:
        assert await asyncio.to_thread(_get, f"http://127.0.0.1:{port}/healthz") == "ok"


async def _works(lab: Lab, kubectl: TenantKubectl, *words: str) -> str:
    """What kubectl says, once it succeeds: ends of the tunnel find each other in their own time."""
    said = complained = ""

    async def look() -> bool:
        nonlocal said, complained
        try:
            said = await kubectl(*words)
        except AssertionError as error:
            complained = str(error)
            return False
        return True

    try:
        await lab.until(f"kubectl {words[0]} works", look, PATIENCE)
    except AssertionError as error:
        pods = await kubectl("get", "pods,events", "--all-namespaces", "-o", "wide")
        raise AssertionError(f"{complained}\n{pods}\n{error}") from None
    return said


@contextlib.asynccontextmanager
async def _forwarded(kubectl: TenantKubectl) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(
        *(kubectl.program, f"--kubeconfig={kubectl.kubeconfig}", "port-forward", "pod/example", f":{POD_PORT}"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            said = (await process.stdout.readline()).decode()
        assert said.startswith("Forwarding from 127.0.0.1:"), said
        yield int(said.split(":")[1].split()[0])
    finally:
        process.kill()
        await process.wait()


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return str(answer.read().decode())


async def _server_is_killed(lab: Lab, folder: Path) -> None:
    [path] = (folder / "processes").glob(f"*.{KONNECTIVITY_SERVER}/record.json")
    await _replaced(lab, lambda: [_pid(path)])

    async def told() -> bool:
        return holds(await lab.get("HostedControlPlane", CLUSTER), "KonnectivityReady")

    await lab.until("the control plane says that the tunnel's server is ready", told, PATIENCE)


def _pid(path: Path) -> int:
    record = Record.read(path)
    return record.identity.pid if record is not None and record.identity.is_alive() else 0


async def _agent_is_killed(lab: Lab, host: NetnsHost) -> None:
    mark = f"--proxy-server-host={host.gateway}"

    def agents() -> list[int]:
        found = []
        for each in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if mark in each.read_text(errors="replace").split("\0"):
                    found.append(int(each.parent.name))
        return found

    await _replaced(lab, agents)


async def _replaced(lab: Lab, pids: Callable[[], list[int]]) -> None:
    """Kill a process, and wait until there is another in its place."""
    [before] = pids()
    os.kill(before, signal.SIGKILL)

    async def another() -> bool:
        return [each for each in pids() if each not in (0, before)] != []

    await lab.until(f"another process in the place of {before}", another, PATIENCE)
