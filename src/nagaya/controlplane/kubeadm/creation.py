"""How a machine is made: its KubeadmConfig, its host, and then the Machine that ties them together.

All three have one name. The first two belong to the control plane until their Machine takes them over, so what a crash
leaves behind is found and deleted before anything else is made. If a later one cannot be made, the earlier ones are
taken back at once. A lost answer is the exception: the object may be there, so the server is asked, and nothing is
taken back before it has answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.name_template import RANDOM_ALPHABET, RANDOM_LENGTH, TemplateError, generate_name
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.template import clone
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.api.kind import Kind
from nagaya.clusters import owners
from nagaya.controlplane.kubeadm.actions import CreateMachine
from nagaya.controlplane.kubeadm.kubeadm_config import new_config
from nagaya.controlplane.kubeadm.machine_content import machine_annotations, machine_labels, new_machine
from nagaya.controlplane.kubeadm.seen import Seen
from nagaya.kube.api import Api
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import NoAnswer

NAME_TEMPLATE: Final = "{{ .kubeadmControlPlane.name }}-{{ .random }}"
RANDOM: Final = "{{ .random }}"
_NAME_TRIES: Final = 100


async def create_machine(rt: Runtime, api: Api, seen: Seen, step: CreateMachine) -> Machine:
    """Make a machine. Raises what the server objects to, when nothing is left of the attempt."""
    kcp, cluster, template = seen.kcp, seen.cluster.metadata.name, seen.template
    assert template.object is not None
    made = template.made
    assert made is not None
    name = free_name(rt, seen)
    take_back: list[Callable[[], Awaitable[object]]] = []
    try:
        config = await api.apply(KUBEADM_CONFIGS, new_config(kcp, cluster, name, join=step.join))
        take_back.append(lambda: api.delete(KUBEADM_CONFIGS, config))
        content = clone(
            template.object,
            name=name,
            cluster=cluster,
            owner=owners.owner(KUBEADM_CONTROL_PLANES, kcp),
            labels=machine_labels(kcp, cluster),
            annotations=machine_annotations(kcp),
        )
        host = await api.apply(made, content.raw)
        take_back.append(lambda: api.delete(made, host))
        return await _machine(
            rt,
            api,
            seen,
            name,
            step.failure_domain,
            ContractReference(api_group=KUBEADM_CONFIGS.group, kind=KUBEADM_CONFIGS.kind, name=name),
            ContractReference(api_group=made.group, kind=made.kind, name=name),
        )
    except ApiError:
        for undo in reversed(take_back):
            # The next look finds what cannot be deleted now.
            with suppress(ApiError, NoAnswer):
                await undo()
        raise


async def _machine(
    rt: Runtime,
    api: Api,
    seen: Seen,
    name: str,
    failure_domain: str,
    config: ContractReference,
    infrastructure: ContractReference,
) -> Machine:
    content = new_machine(seen.kcp, seen.cluster.metadata.name, name, failure_domain, config, infrastructure)
    try:
        return await api.apply(MACHINES, content)
    except NoAnswer as lost:
        try:
            machine = await rt.client.get(MACHINES, seen.kcp.metadata.namespace, name)
        except NotFound:
            raise lost from None
        rt.cache.wrote(MACHINES, machine)
        return machine


def free_name(rt: Runtime, seen: Seen) -> str:
    """A name that nothing of its kinds has. Raises TemplateError."""
    kcp = seen.kcp
    template = kcp.spec.machine_naming.template or NAME_TEMPLATE
    if RANDOM not in template:
        raise TemplateError("cannot generate Machine name: {{ .random }} is missing in machineNaming.template")
    data = {"cluster": {"name": seen.cluster.metadata.name}, "kubeadmControlPlane": {"name": kcp.metadata.name}}
    kinds: list[Kind[Any]] = [MACHINES, KUBEADM_CONFIGS]
    if seen.template.made is not None:
        kinds.append(seen.template.made)
    for _ in range(_NAME_TRIES):
        random = "".join(rt.world.random.choices(RANDOM_ALPHABET, k=RANDOM_LENGTH))
        name = generate_name(template, data, random)
        key = Key(kcp.metadata.namespace, name)
        if all(not rt.cache.has(kind) or rt.cache.get(kind, key) is None for kind in kinds):
            return name
    raise TemplateError(f'no name is left that "{template}" makes: {_NAME_TRIES} of them are taken')
