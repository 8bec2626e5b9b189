"""What a CAPMOX user applies: whole clusters with all that belongs to them, in either generation of the APIs.

Each has the fields of one of the templates that CAPMOX ships, and stands for what a user has made of it: `OLD` with
v1alpha1 and the v1beta1 of Cluster API, `NEW` with v1alpha2 and v1beta2.
"""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]

_INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
_POOLS = "ipam.cluster.x-k8s.io"
_PROVIDER_ID = {"provider-id": "proxmox://'{{ ds.meta_data.instance_id }}'"}
_USERS = [{"name": "root", "sshAuthorizedKeys": ["ssh-ed25519 AAAA someone@example.com"]}]
_KUBE_VIP = {
    "path": "/etc/kubernetes/manifests/kube-vip.yaml",
    "owner": "root:root",
    "content": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: kube-vip\n  namespace: kube-system\n",
}
_PREPARE = {
    "path": "/etc/prepare.sh",
    "owner": "root:root",
    "permissions": "0700",
    "content": "#!/bin/bash\nset -e\n",
}
_IGNITION = {
    "format": "ignition",
    "ignition": {"containerLinuxConfig": {"additionalConfig": "systemd:\n  units:\n  - name: kubeadm.service\n"}},
}


class Generation:
    """One generation of the APIs."""

    def __init__(self, *, old: bool) -> None:
        self.old = old
        self.proxmox = f"{_INFRASTRUCTURE}/{'v1alpha1' if old else 'v1alpha2'}"
        self.capi = "v1beta1" if old else "v1beta2"

    def reference(self, group: str, kind: str, name: str) -> Manifest:
        version = self.proxmox.rpartition("/")[2] if group == _INFRASTRUCTURE else self.capi
        where = {"apiVersion": f"{group}/{version}"} if self.old else {"apiGroup": group}
        return {**where, "kind": kind, "name": name}

    def cluster(self, *, labels: Manifest | None = None, **spec: Any) -> list[Manifest]:
        """The cluster for both, with one network."""
        references = {
            "infrastructureRef": self.reference(_INFRASTRUCTURE, "ProxmoxCluster", "lab"),
            "controlPlaneRef": self.reference(
                "controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "lab-control-plane"
            ),
        }
        network = {"pods": {"cidrBlocks": ["192.168.0.0/16"]}}
        config = {"addresses": ["10.10.10.5-10.10.10.50", "10.10.10.60"], "prefix": 24, "gateway": "10.10.10.1"}
        metadata = {"name": "lab", **({"labels": labels} if labels else {})}
        own = {
            "controlPlaneEndpoint": {"host": "10.10.10.4", "port": 6443},
            "ipv4Config": config,
            "dnsServers": ["8.8.8.8", "8.8.4.4"],
            "allowedNodes": [],
            **spec,
        }
        return [
            {
                "apiVersion": f"cluster.x-k8s.io/{self.capi}",
                "kind": "Cluster",
                "metadata": metadata,
                "spec": {"clusterNetwork": network, **references},
            },
            {"apiVersion": self.proxmox, "kind": "ProxmoxCluster", "metadata": metadata, "spec": own},
        ]

    def registration(self, **more: Any) -> Manifest:
        arguments = {**_PROVIDER_ID, **more}
        named: Any = arguments if self.old else [{"name": name, "value": value} for name, value in arguments.items()]
        return {"nodeRegistration": {"kubeletExtraArgs": named}}

    def control_plane(self, **config: Any) -> Manifest:
        """Three machines with a virtual address."""
        reference = self.reference(_INFRASTRUCTURE, "ProxmoxMachineTemplate", "lab-control-plane")
        template = {"infrastructureRef": reference} if self.old else {"spec": {"infrastructureRef": reference}}
        whole = {
            "users": _USERS,
            "files": [_KUBE_VIP, _PREPARE],
            "preKubeadmCommands": ["/etc/prepare.sh"],
            "initConfiguration": self.registration(),
            "joinConfiguration": self.registration(),
            **config,
        }
        return {
            "apiVersion": f"controlplane.cluster.x-k8s.io/{self.capi}",
            "kind": "KubeadmControlPlane",
            "metadata": {"name": "lab-control-plane"},
            "spec": {
                "replicas": 3,
                "version": "v1.36.3",
                "machineTemplate": template,
                "kubeadmConfigSpec": whole,
            },
        }

    def machines(self, name: str, **spec: Any) -> Manifest:
        """A template of machines that are cloned from a VM."""
        own = {
            "sourceNode": "pve1",
            "templateID": 100,
            "format": "qcow2",
            "full": True,
            "numSockets": 2,
            "numCores": 4,
            "memoryMiB": 16384,
            "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 100}},
            "network": self.network({"bridge": "vmbr1"}),
            **spec,
        }
        return {
            "apiVersion": self.proxmox,
            "kind": "ProxmoxMachineTemplate",
            "metadata": {"name": f"lab-{name}"},
            "spec": {"template": {"spec": {key: value for key, value in own.items() if value is not None}}},
        }

    def network(self, *devices: Manifest, vrfs: list[Manifest] | None = None) -> Manifest:
        """Devices in a row; each may have `pools`, by family."""
        made = []
        for place, device in enumerate(devices):
            pools = {
                family: {"apiGroup": _POOLS, "kind": "GlobalInClusterIPPool", "name": name}
                for family, name in device.get("pools", {}).items()
            }
            plain = {"model": "virtio", **{key: value for key, value in device.items() if key != "pools"}}
            if self.old:
                plain |= {f"{family}PoolRef": pool for family, pool in pools.items()}
            else:
                plain = {key: value for key, value in plain.items() if value is not None}
                plain |= {"ipPoolRef": list(pools.values())} if pools else {}
                plain |= {"defaultIPv4": True, "defaultIPv6": True} if place == 0 else {}
            made.append(plain if self.old and place == 0 else {"name": f"net{place}", **plain})
        further = {"vrfs": vrfs} if vrfs else {}
        if not self.old:
            return {"networkDevices": made, **further}
        return {"default": made[0], **({"additionalDevices": made[1:]} if made[1:] else {}), **further}

    def workers(self, name: str, **config: Any) -> list[Manifest]:
        """Machines, and how they are set up."""
        bootstrap = self.reference("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", f"lab-{name}")
        spec = {
            "clusterName": "lab",
            "version": "v1.36.3",
            "bootstrap": {"configRef": bootstrap},
            "infrastructureRef": self.reference(_INFRASTRUCTURE, "ProxmoxMachineTemplate", f"lab-{name}"),
        }
        labels = {"node-role.kubernetes.io/node": ""}
        whole = {"users": _USERS, "joinConfiguration": self.registration(), **config}
        return [
            {
                "apiVersion": f"cluster.x-k8s.io/{self.capi}",
                "kind": "MachineDeployment",
                "metadata": {"name": f"lab-{name}s"},
                "spec": {
                    "clusterName": "lab",
                    "replicas": 2,
                    "selector": {"matchLabels": None},
                    "template": {"metadata": {"labels": labels}, "spec": spec},
                },
            },
            {
                "apiVersion": f"bootstrap.cluster.x-k8s.io/{self.capi}",
                "kind": "KubeadmConfigTemplate",
                "metadata": {"name": f"lab-{name}"},
                "spec": {"template": {"spec": whole}},
            },
        ]

    def whole(self, cluster: list[Manifest], **machine: Any) -> list[Manifest]:
        """A cluster whose machines are all alike."""
        templates = [self.machines(name, **machine) for name in ("control-plane", "worker")]
        return [*cluster, self.control_plane(), *templates, *self.workers("worker")]


def pool(name: str, addresses: list[str], prefix: int, gateway: str) -> Manifest:
    """A pool for all namespaces, whose API is the same in both generations."""
    spec = {"addresses": addresses, "prefix": prefix, "gateway": gateway}
    return {
        "apiVersion": f"{_POOLS}/v1alpha2",
        "kind": "GlobalInClusterIPPool",
        "metadata": {"name": name},
        "spec": spec,
    }


def _load_balancer(made: Generation) -> list[Manifest]:
    second = {"bridge": "vmbr2", "pools": {"ipv4": "inner"}, "dnsServers": ["8.8.8.8"]}
    third = {"bridge": "vmbr3", "pools": {"ipv4": "outer-v4", "ipv6": "outer-v6"}, "dnsServers": ["8.8.8.8"]}
    policy = [{"from": "203.0.113.0/28"}, {"from": "2001:db8:9::/64"}]
    vrfs = [{"name": "vrf-ext", "table": 500, "interfaces": ["net2"], "routingPolicy": policy}]
    ipv6 = {"addresses": ["2001:db8:1::2-2001:db8:1::ff"], "prefix": 64, "gateway": "2001:db8:1::1"}
    label = {"cluster.x-k8s.io/cluster-name": "lab"}
    taint = {"effect": "NoSchedule", "key": "node-role.kubernetes.io/load-balancer", "value": ""}
    registration = made.registration()["nodeRegistration"]
    return [
        pool("inner", ["10.20.0.10-10.20.0.50"], 24, "169.254.0.254"),
        pool("outer-v4", ["10.30.0.10-10.30.0.50"], 24, "169.254.0.254"),
        pool("outer-v6", ["2001:db8:3::10-2001:db8:3::50"], 64, "::ffff:a9:fe:0:fe"),
        *made.whole(made.cluster(labels=label, ipv6Config=ipv6), network=made.network({"bridge": "vmbr1"}, second)),
        made.machines(
            "load-balancer",
            numSockets=1,
            memoryMiB=2048,
            network=made.network({"bridge": "vmbr1"}, second, third, vrfs=vrfs),
        ),
        *made.workers("load-balancer", joinConfiguration={"nodeRegistration": {**registration, "taints": [taint]}}),
        {
            "apiVersion": f"addons.cluster.x-k8s.io/{made.capi}",
            "kind": "ClusterResourceSet",
            "metadata": {"name": "lab-crs-0", "labels": label},
            "spec": {
                "clusterSelector": {"matchLabels": label},
                "resources": [{"kind": "ConfigMap", "name": "cilium"}],
                "strategy": "Reconcile",
            },
        },
    ]


def _flatcar(made: Generation) -> list[Manifest]:
    machine = {"checks": {"skipQemuGuestAgent": False, "skipCloudInitStatus": True}}
    templates = [made.machines(name, **machine) for name in ("control-plane", "worker")]
    return [*made.cluster(), made.control_plane(**_IGNITION), *templates, *made.workers("worker", **_IGNITION)]


def _external_credentials(made: Generation) -> list[Manifest]:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "lab-proxmox-credentials", "labels": {"platform.ionos.com/secret-type": "proxmox"}},
        "stringData": {"url": "https://pve1.example:8006", "token": "capmox@pve!capi", "secret": "0000"},
    }
    return [secret, *made.whole(made.cluster(credentialsRef={"name": "lab-proxmox-credentials"}))]


def _vlans(made: Generation) -> list[Manifest]:
    second = {"bridge": "vmbr2", "vlan": 4, "pools": {"ipv4": "shared"}, "dnsServers": ["8.8.8.8"]}
    network = made.network({"bridge": "vmbr1", "vlan": None}, second)
    shared = pool("shared", ["10.20.0.10-10.20.0.50"], 24, "10.20.0.1")
    return [shared, *made.whole(made.cluster(), network=network)]


def _labels(made: Generation) -> list[Manifest]:
    labels = "node.kubernetes.io/proxmox-node={{ ds.meta_data.proxmox_node }}"
    machines = [made.machines(name) for name in ("control-plane", "worker")]
    registration = made.registration(**{"node-labels": labels})
    return [*made.cluster(), made.control_plane(), *machines, *made.workers("worker", joinConfiguration=registration)]


def _dual_stack(made: Generation) -> list[Manifest]:
    ipv6 = {"addresses": ["2001:db8:1::2-2001:db8:1::ff"], "prefix": 64, "gateway": "2001:db8:1::1"}
    return made.whole(made.cluster(ipv6Config=ipv6, allowedNodes=["pve1", "pve2"]))


def _auto_image(made: Generation) -> list[Manifest]:
    selector = {"matchTags": ["capi", "v1.36.3"]}
    return made.whole(made.cluster(), sourceNode=None, templateID=None, templateSelector=selector)


def _class(made: Generation) -> list[Manifest]:
    """A ClusterClass with patches in the words of the templates' own version."""
    group = "controlplane.cluster.x-k8s.io"

    def used(api_version: str, kind: str, name: str) -> Manifest:
        reference = {"apiVersion": api_version, "kind": kind, "name": name}
        return {"ref": reference} if made.old else {"templateRef": reference}

    def patch(name: str, path: str, variable: str, matching: Manifest, kind: str) -> Manifest:
        selector = {"apiVersion": made.proxmox, "kind": kind, "matchResources": matching}
        change = {"op": "add", "path": f"/spec/template/spec/{path}", "valueFrom": {"variable": variable}}
        return {"name": name, "definitions": [{"selector": selector, "jsonPatches": [change]}]}

    bridge = "network/default/bridge" if made.old else "network/networkDevices/0/bridge"
    workers = {"machineDeploymentClass": {"names": ["proxmox-worker"]}}
    template = {
        "bootstrap": used(f"bootstrap.cluster.x-k8s.io/{made.capi}", "KubeadmConfigTemplate", "lab-worker"),
        "infrastructure": used(made.proxmox, "ProxmoxMachineTemplate", "lab-worker"),
    }
    machine_class = (
        {"class": "proxmox-worker", "template": template} if made.old else {"class": "proxmox-worker", **template}
    )
    clone: Manifest = {"sshAuthorizedKeys": [], "virtualIPNetworkInterface": ""}
    machine = {"sourceNode": "pve1"}
    cluster = {
        "controlPlaneEndpoint": {"host": "10.10.10.9", "port": 6443},
        "dnsServers": ["8.8.8.8"],
        **(
            {"cloneSpec": {**clone, "machineSpec": {"controlPlane": machine}}}
            if made.old
            else {**clone, "machineSpec": [{"machineType": "controlPlane", **machine}]}
        ),
    }
    return [
        {
            "apiVersion": f"cluster.x-k8s.io/{made.capi}",
            "kind": "ClusterClass",
            "metadata": {"name": "lab-class"},
            "spec": {
                "controlPlane": {
                    **used(f"{group}/{made.capi}", "KubeadmControlPlaneTemplate", "lab-control-plane"),
                    "machineInfrastructure": used(made.proxmox, "ProxmoxMachineTemplate", "lab-control-plane"),
                },
                "infrastructure": used(made.proxmox, "ProxmoxClusterTemplate", "lab-cluster"),
                "workers": {"machineDeployments": [machine_class]},
                "variables": [
                    {"name": name, "required": True, "schema": {"openAPIV3Schema": {"type": type_}}}
                    for name, type_ in (("host", "string"), ("bridge", "string"))
                ],
                "patches": [
                    patch(
                        "host",
                        "controlPlaneEndpoint/host",
                        "host",
                        {"infrastructureCluster": True},
                        "ProxmoxClusterTemplate",
                    ),
                    patch("bridge", bridge, "bridge", workers, "ProxmoxMachineTemplate"),
                ],
            },
        },
        {
            "apiVersion": f"{group}/{made.capi}",
            "kind": "KubeadmControlPlaneTemplate",
            "metadata": {"name": "lab-control-plane"},
            "spec": {"template": {"spec": {"kubeadmConfigSpec": {"initConfiguration": made.registration()}}}},
        },
        {
            "apiVersion": made.proxmox,
            "kind": "ProxmoxClusterTemplate",
            "metadata": {"name": "lab-cluster"},
            "spec": {"template": {"spec": cluster}},
        },
        *(made.machines(name) for name in ("control-plane", "worker")),
        made.workers("worker")[1],
    ]


_MAKERS = {
    "default": lambda made: made.whole(made.cluster()),
    "auto-image": _auto_image,
    "dual-stack": _dual_stack,
    "external-credentials": _external_credentials,
    "flatcar": _flatcar,
    "labels": _labels,
    "load-balancer": _load_balancer,
    "vlans": _vlans,
    "class": _class,
}
OLD = {name: make(Generation(old=True)) for name, make in _MAKERS.items()}
NEW = {name: make(Generation(old=False)) for name, make in _MAKERS.items()}
