"""A machine that is a namespace joins a real control plane with real kubeadm, runs a pod, is drained, and is gone.

Nothing here is simulated but the hardware: the machine's own cloud-init runs `kubeadm join`, which finds the objects
that Nagaya sets tenants up with and nothing else.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from nagaya.simulators.netns.host import NetnsHost
from nagaya.simulators.netns.image import image
from nagaya.simulators.netns.machine import Machine
from support.debian import machine_packages
from support.hosted_by_hand import PROGRAMS, HostedByHand
from support.netns_leftovers import leftovers
from support.real import installed_binaries

pytestmark = pytest.mark.long("real machines start containerd and a kubelet, and join with kubeadm")

SENTENCE = "Here I am."
EXAMPLE = "localhost/nagaya/example:1"
SENTINEL = "/run/cluster-api/bootstrap-success.complete"
PATIENCE = 120.0
_PAUSE = 0.1

JOIN = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    apiServerEndpoint: {endpoint}
    token: {token}
    caCertHashes: ["{pin}"]
nodeRegistration:
  name: '{{{{ ds.meta_data.local_hostname }}}}'
  ignorePreflightErrors: [SystemVerification]
  kubeletExtraArgs:
  - {{name: provider-id, value: "netns://m1"}}
"""
USER_DATA = """\
## template: jinja
#cloud-config
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  owner: root:root
  permissions: '0640'
  content: |
{join}
runcmd:
- [mkdir, -p, /run/cluster-api]
- kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml && echo success > {sentinel}
"""


def pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 5,
            "containers": [{"name": "example", "image": EXAMPLE, "imagePullPolicy": "Never"}],
        },
    }


async def eventually(what: Callable[[], Awaitable[bool]], told: Callable[[], str]) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            while not await what():  # noqa: ASYNC110  # it is somewhere else that it becomes true
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        pytest.fail(told())


async def user_data(tenant: HostedByHand) -> bytes:
    join = JOIN.format(endpoint=tenant.endpoint, token=await tenant.bootstrap_token(), pin=tenant.pin)
    return USER_DATA.format(join=indent(join, "    "), sentinel=SENTINEL).encode()


@pytest.fixture
def packages() -> Path | None:
    return machine_packages()


async def test_machines_reach_each_other_and_the_host_and_keep_to_themselves(
    tmp_path: Path, packages: Path | None
) -> None:
    script = """#cloud-config
write_files:
- {path: /etc/only-here, content: aGVyZQ==, encoding: b64, permissions: '0600', owner: 'daemon:daemon'}
- {path: /etc/only-here, content: ' and there', append: true, permissions: 0600, owner: 'daemon:daemon'}
bootcmd:
- test ! -e /etc/only-here
runcmd:
- [sh, -c, 'stat -c "%a %U" /etc/only-here; cat /etc/only-here; echo; hostname; cat /etc/machine-id']
"""
    async with NetnsHost(tmp_path, packages=packages) as host:
        one, two = await asyncio.gather(*(host.create(name, user_data=script.encode()) for name in ("m1", "m2")))
        assert (await one.finished()).succeeded
        assert (await two.finished()).succeeded
        first, second = (machine.log("runcmd").splitlines() for machine in (one, two))
        assert first[:3] == ["600 daemon", "here and there", "m1"]
        assert second[:3] == ["600 daemon", "here and there", "m2"]
        assert first[3] != second[3]
        assert not Path("/etc/only-here").exists()
        # A server in one machine is reached from the other and from the host, and only there.
        serve = "python3 -m http.server 8080 --directory /etc > /dev/null 2>&1 &"
        assert (await one.run(["sh", "-c", serve])).code == 0
        ask = f"import urllib.request as u; print(u.urlopen('http://{one.address.ip}:8080/hostname').read())"
        assert await answers(two, ask)
        processes = (await two.run(["ps", "ax"])).text
        assert "http.server" not in processes
        await one.destroy()
        assert two.running
        assert {*host.machines} == {"m2"}
    assert leftovers(host) == []


async def answers(machine: Machine, program: str) -> bool:
    for _ in range(100):
        if (await machine.run(["python3", "-c", program])).text == "b'm1\\n'\n":
            return True
        await asyncio.sleep(_PAUSE)
    return False


async def test_a_machine_may_be_destroyed_while_it_boots(tmp_path: Path, packages: Path | None) -> None:
    async with NetnsHost(tmp_path, packages=packages) as host:
        machine = await host.create("m1", user_data=b"#cloud-config\nruncmd: ['echo began; sleep 600']\n")
        await eventually(_began(machine), lambda: machine.log("machine"))
        await machine.destroy()
        await machine.destroy()
        with pytest.raises(asyncio.CancelledError):
            await machine.finished()
        again = await host.create("m1")
        await machine.destroy()
        assert (await again.finished()).succeeded
        assert again.log("runcmd") == ""
    assert leftovers(host) == []


def _began(machine: Machine) -> Callable[[], Awaitable[bool]]:
    async def began() -> bool:
        return "began" in machine.log("runcmd")

    return began


KILLED = """
import asyncio, sys
from pathlib import Path
from nagaya.simulators.netns.host import NetnsHost

async def main():
    packages = Path(sys.argv[2]) if sys.argv[2:] else None
    host = NetnsHost(Path(sys.argv[1]), packages=packages)
    await host.open()
    machine = await host.create("m1", user_data=b"#cloud-config\\nruncmd: ['sleep 600 & sleep 601']\\n")
    print(machine.pid, flush=True)
    await machine.finished()

asyncio.run(main())
"""


async def test_what_a_killed_run_left_behind_is_removed_by_the_next(tmp_path: Path, packages: Path | None) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(tmp_path), *([] if packages is None else [str(packages)])),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    pid = int(await process.stdout.readline())
    assert Path(f"/proc/{pid}").exists()
    process.kill()
    await process.wait()

    async def gone() -> bool:
        return not Path(f"/proc/{pid}").exists()

    await eventually(gone, lambda: "the machine has outlived the process that made it")
    host = NetnsHost(tmp_path, packages=packages)
    assert leftovers(host) != []
    async with host:
        assert (await (await host.create("m1")).finished()).succeeded
    assert leftovers(host) == []


async def test_a_machine_joins_runs_a_pod_is_drained_and_leaves_nothing(tmp_path: Path, packages: Path | None) -> None:
    binaries = installed_binaries((*PROGRAMS, "kubelet", "kubeadm"))
    programs = [binaries.path(name) for name in ("kubelet", "kubeadm", "kubectl")]
    images = [image(EXAMPLE, f"{SENTENCE}\n")]
    host = NetnsHost(tmp_path / "machines", programs=programs, images=images, packages=packages)
    async with host, HostedByHand(binaries, str(host.gateway)) as tenant:
        await tenant.set_up()
        machine = await host.create("m1", user_data=await user_data(tenant))
        await _joined(tenant, machine)
        await _runs_a_pod(tenant, machine)
        await tenant.kubectl("drain", "m1", "--force", "--ignore-daemonsets")
        assert await tenant.objects("pods", "-n", "default") == []
        await tenant.kubectl("delete", "node", "m1")
        await machine.destroy()
        assert not machine.running
        assert not host.machines
    assert leftovers(host) == []


async def _joined(tenant: HostedByHand, machine: Machine) -> None:
    booted = await machine.finished()
    assert booted.succeeded, machine.log("runcmd")
    assert (await machine.run(["cat", SENTINEL])).text == "success\n"

    async def ready() -> bool:
        for node in await tenant.objects("nodes"):
            conditions = {each["type"]: each["status"] for each in node["status"]["conditions"]}
            if node["metadata"]["name"] == "m1" and conditions.get("Ready") == "True":
                assert node["spec"]["providerID"] == "netns://m1"
                assert {"type": "InternalIP", "address": str(machine.address.ip)} in node["status"]["addresses"]
                return True
        return False

    await eventually(ready, lambda: f"the node is not ready\n{machine.log('kubelet')[-5000:]}")


async def _runs_a_pod(tenant: HostedByHand, machine: Machine) -> None:
    manifest = machine.folder / "pod.json"
    manifest.write_text(json.dumps(pod("example")))

    async def account() -> bool:
        return bool(await tenant.objects("serviceaccounts", "-n", "default"))

    await eventually(account, lambda: "namespace default has no service account")
    await tenant.kubectl("apply", "-f", str(manifest))

    async def running() -> bool:
        (found,) = await tenant.objects("pods", "-n", "default")
        return bool(found["status"]["phase"] == "Running")

    await eventually(running, lambda: f"the pod does not run\n{machine.log('kubelet')[-5000:]}")
    assert await tenant.kubectl("logs", "example") == f"{SENTENCE}\n"
