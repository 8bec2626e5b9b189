"""All objects of a cluster, drawn from a wish: the Cluster first, as people read it."""

from __future__ import annotations

from typing import Final

from nagaya.api.bootstrap.annotations import INSTALL
from nagaya.api.bootstrap.kubeadm_config_template import KUBEADM_CONFIG_TEMPLATES
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.labels import CLUSTER_NAME, MACHINE_DEPLOYMENT_NAME
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.blueprints import infrastructure
from nagaya.blueprints.manifest import CONTROL_PLANE, WORKERS, Manifest, manifest, named, reference
from nagaya.blueprints.wish import HOSTED, Wish
from nagaya.infrastructure.proxmox.image.manifests import AGENT, PACKAGES

PODS: Final = "10.244.0.0/16"


def blueprint(wish: Wish) -> list[Manifest]:
    """Every object, in an order in which they can be made."""
    hosted = wish.control_plane == HOSTED
    planes = [_hosted(wish)] if hosted else [_kubeadm(wish), infrastructure.machines(wish, named(wish, CONTROL_PLANE))]
    return [_cluster(wish), infrastructure.shared(wish), *planes, *_workers(wish)]


def _cluster(wish: Wish) -> Manifest:
    kind = HOSTED_CONTROL_PLANES if wish.control_plane == HOSTED else KUBEADM_CONTROL_PLANES
    spec = {
        "clusterNetwork": {"pods": {"cidrBlocks": [PODS]}},
        "controlPlaneRef": reference(kind, wish.name),
        "infrastructureRef": reference(infrastructure.cluster_kind(wish), wish.name),
    }
    return manifest(CLUSTERS, wish, wish.name, spec)


def _hosted(wish: Wish) -> Manifest:
    spec: Manifest = {"version": wish.version, "replicas": wish.control_planes}
    if wish.data_store:
        spec["dataStoreRef"] = {"name": wish.data_store}
    return manifest(HOSTED_CONTROL_PLANES, wish, wish.name, spec)


def _kubeadm(wish: Wish) -> Manifest:
    template = reference(infrastructure.template_kind(wish), named(wish, CONTROL_PLANE))
    spec: Manifest = {
        "version": wish.version,
        "replicas": wish.control_planes,
        "machineTemplate": {**_installed(wish), "spec": {"infrastructureRef": template}},
    }
    if commands := _commands(wish):
        spec["kubeadmConfigSpec"] = commands
    return manifest(KUBEADM_CONTROL_PLANES, wish, wish.name, spec)


def _workers(wish: Wish) -> list[Manifest]:
    name = named(wish, WORKERS)
    # As admission completes it: a selector is one value, and who applies a part of it would seem to change it.
    selected = {CLUSTER_NAME: wish.name, MACHINE_DEPLOYMENT_NAME: name}
    machine = {
        "clusterName": wish.name,
        "version": wish.version,
        "bootstrap": {"configRef": reference(KUBEADM_CONFIG_TEMPLATES, name)},
        "infrastructureRef": reference(infrastructure.template_kind(wish), name),
    }
    spec = {
        "clusterName": wish.name,
        "replicas": wish.workers,
        "selector": {"matchLabels": selected},
        "template": {"metadata": {"labels": selected}, "spec": machine},
    }
    # Nothing of kubeadm has to be said, but a template may not be empty.
    config = {"template": {**_installed(wish), "spec": {"format": "cloud-config", **_commands(wish)}}}
    return [
        manifest(MACHINE_DEPLOYMENTS, wish, name, spec),
        manifest(KUBEADM_CONFIG_TEMPLATES, wish, name, config),
        infrastructure.machines(wish, name),
    ]


def _installed(wish: Wish) -> Manifest:
    """What has Kubernetes installed on machines of a plain image."""
    plain = wish.proxmox is not None and wish.proxmox.image
    return {"metadata": {"annotations": {INSTALL: PACKAGES}}} if plain else {}


def _commands(wish: Wish) -> Manifest:
    """What such machines do before: they have no guest agent, by which Proxmox VE knows their addresses."""
    plain = wish.proxmox is not None and wish.proxmox.image
    return {"preKubeadmCommands": [*AGENT]} if plain else {}
