"""What kubeadm reads: our API in the words of kubeadm's own configuration, v1beta4 or v1beta3.

Documents are plain dicts with the fields and empty parts that Cluster API's provider writes too, so that tools which
look into boot data find what they know.
"""

from nagaya.bootstrap.kubeadm_api.cluster_configuration import ClusterFacts, cluster_document
from nagaya.bootstrap.kubeadm_api.discovery_kubeconfig import discovery_kubeconfig
from nagaya.bootstrap.kubeadm_api.init_configuration import init_document
from nagaya.bootstrap.kubeadm_api.join_configuration import join_document
from nagaya.bootstrap.kubeadm_api.version import KubeadmVersion, version_for

__all__ = [
    "ClusterFacts",
    "KubeadmVersion",
    "cluster_document",
    "discovery_kubeconfig",
    "init_document",
    "join_document",
    "version_for",
]
