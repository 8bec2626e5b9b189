"""What is known about one machine, and the boot data made from it.

There are three kinds of machines, and a type for each. They differ in what they may hold: a `Worker` has no field for
keys of the cluster, so nothing that calls `render` can put one onto a worker, by mistake or otherwise.

The controller fills in what is not in the KubeadmConfig: contents of Secrets, the discovery of a joining machine, the
certificates. From here on everything is pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from nagaya.api.bootstrap.cluster_configuration import ClusterConfiguration
from nagaya.api.bootstrap.init_configuration import InitConfiguration
from nagaya.api.bootstrap.join_configuration import JoinConfiguration, JoinControlPlane
from nagaya.api.bootstrap.kubeadm_config_spec import IGNITION
from nagaya.api.bootstrap.node_registration import APIEndpoint, Taint
from nagaya.api.cluster.taint import NODE_UNINITIALIZED
from nagaya.bootstrap import cloud_init, ignition, installation, kubeadm_api, virtual_ip
from nagaya.bootstrap.boot import Boot
from nagaya.bootstrap.certificate_files import ControlPlaneCertificates
from nagaya.bootstrap.kubeadm_api import ClusterFacts, KubeadmVersion
from nagaya.bootstrap.kubeadm_api.document import Document
from nagaya.bootstrap.own_file import OwnFile
from nagaya.bootstrap.preparation import Preparation
from nagaya.bootstrap.refusal import Refused
from nagaya.bootstrap.virtual_ip import VirtualIP

_UNINITIALIZED: Final = Taint(key=NODE_UNINITIALIZED, effect="NoSchedule")


@dataclass(frozen=True, slots=True)
class FirstControlPlane:
    """The machine that starts the cluster with `kubeadm init`."""

    preparation: Preparation
    cluster: ClusterFacts
    cluster_configuration: ClusterConfiguration
    init_configuration: InitConfiguration = field(repr=False)
    certificates: ControlPlaneCertificates
    virtual_ip: VirtualIP | None = None
    """The address of the cluster, if the machines of its control plane are to hold it."""


@dataclass(frozen=True, slots=True)
class FurtherControlPlane:
    """A machine that joins the control plane of a cluster that runs."""

    preparation: Preparation
    cluster_configuration: ClusterConfiguration
    """Says where certificates belong; kubeadm reads the rest in the cluster."""
    join_configuration: JoinConfiguration = field(repr=False)
    """With its discovery filled in. That it is a control plane machine need not be said there."""
    certificates: ControlPlaneCertificates
    virtual_ip: VirtualIP | None = None


@dataclass(frozen=True, slots=True)
class Worker:
    """A machine that joins as a worker."""

    preparation: Preparation
    join_configuration: JoinConfiguration = field(repr=False)
    """With its discovery filled in."""


BootstrapData = FirstControlPlane | FurtherControlPlane | Worker


def render(data: BootstrapData) -> bytes:
    """The boot data of a machine. Raises Refused, with field and remedy, if there can be none."""
    boot = _boot(data)
    return ignition.render(boot) if data.preparation.format == IGNITION else cloud_init.render(boot)


def _boot(data: BootstrapData) -> Boot:
    preparation = data.preparation
    version = kubeadm_api.version_for(preparation.kubernetes_version)
    install = installation.steps(preparation.installation, preparation.kubernetes_version, preparation.format)
    own: tuple[OwnFile, ...] = ()
    if isinstance(data, FirstControlPlane):
        own = _control_plane_files(data, data.init_configuration.local_api_endpoint)
        documents = _init_documents(data, version)
        files = preparation.files
    else:
        if isinstance(data, FurtherControlPlane):
            role = data.join_configuration.control_plane or JoinControlPlane()
            own = _control_plane_files(data, role.local_api_endpoint)
        documents = (_join_document(data, version),)
        kubeconfig = kubeadm_api.discovery_kubeconfig(data.join_configuration.discovery.file)
        files = preparation.files if kubeconfig is None else (*preparation.files, kubeconfig)
    return Boot(
        preparation=preparation,
        subcommand="init" if isinstance(data, FirstControlPlane) else "join",
        documents=documents,
        own_files=(*own, *install.files),
        files=files,
        own_commands=install.commands,
    )


def _control_plane_files(data: FirstControlPlane | FurtherControlPlane, listens: APIEndpoint) -> tuple[OwnFile, ...]:
    first = isinstance(data, FirstControlPlane)
    return (
        *data.certificates.files(data.cluster_configuration),
        *virtual_ip.files(data.virtual_ip, data.preparation, first=first, bind_port=listens.bind_port),
    )


def _init_documents(data: FirstControlPlane, version: KubeadmVersion) -> tuple[Document, ...]:
    first, preparation = data.init_configuration, data.preparation
    return (
        kubeadm_api.cluster_document(
            version, data.cluster_configuration, data.cluster, preparation.kubernetes_version, first.timeouts
        ),
        kubeadm_api.init_document(version, first, preparation.kubelet),
    )


def _join_document(data: FurtherControlPlane | Worker, version: KubeadmVersion) -> Document:
    join, kubelet = data.join_configuration, data.preparation.kubelet
    if isinstance(data, FurtherControlPlane):
        role = join.control_plane or JoinControlPlane()
        return kubeadm_api.join_document(version, join, kubelet, control_plane=role)
    if join.control_plane is not None:
        raise Refused(
            "spec.joinConfiguration.controlPlane",
            "Machine is a Worker, but JoinConfiguration.ControlPlane is set in the KubeadmConfig object",
            "Remove it, or make the Machine one of the control plane",
        )
    return kubeadm_api.join_document(version, join, kubelet, more_taints=(_UNINITIALIZED,))
