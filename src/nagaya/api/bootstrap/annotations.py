"""Annotations that have a meaning for boot data, beside those that all kinds have."""

from __future__ import annotations

from typing import Final

INSTALL: Final = "bootstrap.nagaya.dev/install"
"""Where kubelet, kubeadm and containerd come from: `image`, which is what leaving it out means, or `packages`."""

MIRROR: Final = "bootstrap.nagaya.dev/package-mirror"
"""With `packages`: what stands in for https://pkgs.k8s.io, with the same folders below."""

KUBELET_NODE_IP: Final = "bootstrap.nagaya.dev/kubelet-node-ip"
"""On the infrastructure's object for a cluster: what kubelets get as `--node-ip`. May be a template of cloud-init's,
such as `{{ ds.meta_data.local_ipv4 }}`."""

KUBELET_PROVIDER_ID: Final = "bootstrap.nagaya.dev/kubelet-provider-id"
"""On the infrastructure's object for a cluster: what kubelets get as `--provider-id`. May be a template of
cloud-init's, such as `proxmox://{{ ds.meta_data.instance_id }}`."""

KUBELET_CLOUD_PROVIDER: Final = "bootstrap.nagaya.dev/kubelet-cloud-provider"
"""On the infrastructure's object for a cluster: `external` if a cloud controller manager initialises its nodes."""

VIRTUAL_IP: Final = "bootstrap.nagaya.dev/virtual-ip"
"""On the infrastructure's object for a cluster: `kube-vip` if the machines of the control plane hold the address of the
cluster's endpoint themselves, by a static pod that they get. Nothing is done for any other value."""

VIRTUAL_IP_IMAGE: Final = "bootstrap.nagaya.dev/virtual-ip-image"
"""Beside it: the image of kube-vip, if another one is to be used."""

VIRTUAL_IP_INTERFACE: Final = "bootstrap.nagaya.dev/virtual-ip-interface"
"""Beside it: the network interface that gets the address, if not that of the default route."""

TOKEN_MADE: Final = "bootstrap.nagaya.dev/token-made"  # noqa: S105 - a name
"""On a KubeadmConfig: its bootstrap token was made for it, so it is revoked once the machine has joined."""
