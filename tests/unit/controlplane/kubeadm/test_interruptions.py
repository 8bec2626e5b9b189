"""The process dies after one of its writes. The next one goes on, and nothing is made twice or left behind."""

from __future__ import annotations

import pytest

from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.kube.patches import Merge
from unit.controlplane.kubeadm.bridge import NAMESPACE, Bridge

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("writes", range(7))
async def test_a_first_machine_comes_whatever_was_the_last_write(bridge: Bridge, writes: int) -> None:
    await bridge.restart(last=writes)
    await bridge.create(1)
    await bridge.until_dead()
    await bridge.restart()
    await bridge.look()
    (machine,) = await bridge.machines()
    assert [each.metadata.name for each in await bridge.configs()] == [machine.metadata.name]
    assert [each.metadata.name for each in await bridge.hosts()] == [machine.metadata.name]
    assert bridge.certificates.made == ["authorities", "kubeconfig"]


@pytest.mark.parametrize("writes", range(1, 5))
async def test_a_rollout_goes_on_whatever_was_the_last_write(bridge: Bridge, writes: int) -> None:
    await bridge.declare(1)
    await bridge.bring_all_up()
    (old,) = await bridge.machines()
    await bridge.restart(last=writes)
    newer = Merge({"spec": {"version": "v1.37.0"}})
    await bridge.user.patch(KUBEADM_CONTROL_PLANES, NAMESPACE, "bridge", newer)
    await bridge.until_dead()
    await bridge.restart()
    await bridge.bring_all_up()
    assert len(await bridge.machines()) == 2
    name = old.metadata.name
    await bridge.drain(name)
    await bridge.finish(name)
    await bridge.look()
    (new,) = await bridge.machines()
    assert new.spec.version == "v1.37.0"
    # What the old machine had goes by garbage collection; nothing but that is left.
    left = {each.metadata.name for each in await bridge.configs()} | {
        each.metadata.name for each in await bridge.hosts()
    }
    assert left <= {name, new.metadata.name}
