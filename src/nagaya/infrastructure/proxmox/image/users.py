"""Who needs which templates: what objects of the management API select, whether or not machines run from it now.

Everything that could select a template counts, also for other data centers: a template that stays too long costs disk
space, one that goes too early costs a cluster its next machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_pool import MACHINE_POOLS
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_machine_template import PROXMOX_MACHINE_TEMPLATES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.api.proxmox.template_source import EXACT, CloneSpec, TemplateSelector, version_tag
from nagaya.api.untyped import Untyped
from nagaya.infrastructure.proxmox.image.seen import Template
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound

_VERSION_TAG: Final = version_tag("")
"""What the tags of all versions begin with."""
_VERSIONED: Final = (CLUSTERS, KUBEADM_CONTROL_PLANES, MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINE_POOLS, MACHINES)
_VERSIONS: Final = (("spec", "version"), ("spec", "template", "spec", "version"), ("spec", "topology", "version"))


@dataclass(frozen=True, slots=True)
class Selection:
    """What an object says of the template that it wants."""

    who: str
    """Kind, namespace and name."""
    vmid: int | None = None
    tags: frozenset[str] = frozenset()
    exact: bool = True
    by_version: bool = False
    """Whether the tag of a machine's Kubernetes version is wanted too."""

    def means(self, template: Template, versions: frozenset[str]) -> bool:
        """Whether the template is, or could be, one that is wanted. `versions` are the tags of those in use."""
        if self.vmid is not None:
            return self.vmid == template.vmid
        own = frozenset(each for each in template.tags if each.startswith(_VERSION_TAG))
        if self.by_version:
            # While no machine has a version, each could be the next one's.
            fitting = own & versions if versions else own
            return any(self._fit(self.tags | {each}, template) for each in fitting)
        return self._fit(self.tags, template)

    def _fit(self, wanted: frozenset[str], template: Template) -> bool:
        return wanted == template.tags if self.exact else wanted <= template.tags


@dataclass(frozen=True, slots=True)
class Users:
    """All that select templates."""

    selections: tuple[Selection, ...] = ()
    versions: frozenset[str] = frozenset()
    """The tags of the Kubernetes versions that clusters have or are to have."""

    def of(self, template: Template) -> tuple[str, ...]:
        """Who needs a template."""
        return tuple(each.who for each in self.selections if each.means(template, self.versions))

    def torn(self, tags: frozenset[str], templates: Iterable[Template]) -> Mapping[tuple[int, ...], tuple[str, ...]]:
        """Who finds an image with these tags beside templates with others, by the VMIDs of those."""
        image, others = Template(0, "", "", tags), [each for each in templates if each.template and each.tags != tags]
        found: dict[tuple[int, ...], tuple[str, ...]] = {}
        for each in self.selections:
            if each.vmid is None and each.means(image, self.versions):
                vmids = tuple(sorted(other.vmid for other in others if each.means(other, self.versions)))
                found[vmids] = (*found.get(vmids, ()), each.who)
        return {vmids: who for vmids, who in found.items() if vmids}


class Unaware(Exception):
    """The API knows nothing of machines on Proxmox VE, so what it says of their templates is worth nothing."""


async def users(client: Client) -> Users:
    """Read the management API. Raises Unaware, ApiError, NoAnswer."""
    found: list[Selection] = []
    try:
        machines = (await client.list(PROXMOX_MACHINES)).items
    except NotFound:
        raise Unaware(
            "The management API does not know ProxmoxMachines, so it cannot be the one whose machines use this Proxmox "
            "VE: check --kubeconfig and --context."
        ) from None
    for machine in machines:
        found += _selections(_who("ProxmoxMachine", machine.metadata), machine.spec)
    for template in await _all(client, PROXMOX_MACHINE_TEMPLATES):
        found += _selections(_who("ProxmoxMachineTemplate", template.metadata), template.spec.template.spec)
    for connection in await _all(client, PROXMOX_CONNECTIONS):
        defaults = connection.spec.defaults
        if defaults is not None and defaults.template_selector is not None:
            found.append(_by_tags(_who("ProxmoxConnection", connection.metadata), defaults.template_selector))
    versions: set[str] = set()
    for kind in _VERSIONED:
        untyped = Kind(kind.group, kind.version, kind.kind, kind.plural, Untyped, namespaced=kind.namespaced)
        for each in await _all(client, untyped):
            versions |= {version_tag(text) for path in _VERSIONS if (text := each.at(*path)) and isinstance(text, str)}
    return Users(tuple(found), frozenset(versions))


async def reserved(client: Client) -> frozenset[int]:
    """VMIDs that machines of clusters have, or are about to. Raises ApiError, NoAnswer."""
    return frozenset(each.spec.vmid for each in await _all(client, PROXMOX_VIRTUAL_MACHINES))


def _selections(who: str, spec: CloneSpec) -> Iterable[Selection]:
    if spec.template_id is not None:
        yield Selection(who, spec.template_id)
    elif spec.template_selector is not None:
        yield _by_tags(who, spec.template_selector)


def _by_tags(who: str, selector: TemplateSelector) -> Selection:
    tags = frozenset(each.lower() for each in selector.match_tags)
    exact = (selector.match_policy or EXACT) == EXACT
    return Selection(who, None, tags, exact, bool(selector.match_kubernetes_version))


def _who(kind: str, metadata: Any) -> str:
    return f"{kind} {metadata.namespace}/{metadata.name}"


async def _all(client: Client, kind: Kind[Any]) -> list[Any]:
    """A kind of a part that is not installed is used by nobody."""
    try:
        return [*(await client.list(kind)).items]
    except NotFound:
        return []
