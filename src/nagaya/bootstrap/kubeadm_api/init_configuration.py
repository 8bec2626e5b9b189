"""kubeadm's InitConfiguration: what the machine that starts a cluster is told about itself."""

from __future__ import annotations

from nagaya.api.bootstrap.init_configuration import BootstrapToken, InitConfiguration
from nagaya.bootstrap.kubeadm_api.document import Document, duration, given, moment
from nagaya.bootstrap.kubeadm_api.node_registration import endpoint, node_registration, patches, timeouts
from nagaya.bootstrap.kubeadm_api.version import KubeadmVersion
from nagaya.bootstrap.preparation import KubeletFacts


def init_document(version: KubeadmVersion, configuration: InitConfiguration, kubelet: KubeletFacts) -> Document:
    """The document."""
    return {
        "apiVersion": version.value,
        "kind": "InitConfiguration",
        **given(
            bootstrapTokens=[_token(each) for each in configuration.bootstrap_tokens],
            nodeRegistration=node_registration(version, configuration.node_registration, kubelet),
            localAPIEndpoint=endpoint(configuration.local_api_endpoint),
            skipPhases=list(configuration.skip_phases),
            patches=patches(configuration.patches),
            timeouts=timeouts(version, configuration.timeouts),
        ),
    }


def _token(token: BootstrapToken) -> Document:
    return {
        "token": token.token,
        **given(
            description=token.description,
            ttl=duration(token.ttl_seconds),
            expires=moment(token.expires) if token.expires is not None else "",
            usages=list(token.usages),
            groups=list(token.groups),
        ),
    }
