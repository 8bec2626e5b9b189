"""How a joining machine finds the API server and knows that it is the right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc


class BootstrapTokenDiscovery(Model):
    """Trust by a token that both sides know."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    token: Annotated[
        str,
        doc(
            "Token that the cluster's information is verified with. Made for each machine if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    api_server_endpoint: Annotated[
        str,
        doc(
            "host:port of the API server to ask. The Cluster's control plane endpoint if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    ca_cert_hashes: Annotated[
        tuple[Annotated[str, doc("A hash, as sha256:HEX.", minLength=1, maxLength=512)], ...],
        doc(
            "SHA-256 hashes of the public keys of authorities to accept, each as sha256:HEX. That of the cluster's "
            "own authority if left out.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = ()
    unsafe_skip_ca_verification: Annotated[
        bool | None,
        doc("If true, any authority is accepted. Whoever knows the token can then pose as the control plane."),
    ] = msgspec.field(name="unsafeSkipCAVerification", default=None)


class KubeConfigCluster(Model):
    """Which API server to talk to, in the words of a kubeconfig."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    server: Annotated[
        str,
        doc(
            "URL of the API server. https:// and the Cluster's control plane endpoint if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    tls_server_name: Annotated[
        str,
        doc(
            "Name that the server's certificate must have. The host of server if left out.", minLength=1, maxLength=512
        ),
    ] = ""
    insecure_skip_tls_verify: Annotated[
        bool | None, doc("If true, the server's certificate is not checked. Unsafe.")
    ] = msgspec.field(name="insecureSkipTLSVerify", default=None)
    certificate_authority_data: Annotated[
        str,
        doc(
            "Authorities to accept, PEM in base64. The cluster's own if left out.",
            format="byte",
            minLength=1,
            maxLength=51200,
        ),
    ] = ""
    proxy_url: Annotated[
        str,
        doc(
            "Proxy for all requests: http, https or socks5. What the environment says if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = msgspec.field(name="proxyURL", default="")


class KubeConfigAuthProvider(Model):
    """A named way to authenticate, built into the client."""

    name: Annotated[str, doc("Name of the provider.", minLength=1, maxLength=256)]
    config: Annotated[Mapping[str, str], doc("Settings of the provider.")] = NONE


class KubeConfigAuthExecEnv(Model):
    """An environment variable of the command."""

    name: Annotated[str, doc("Name of the variable.", minLength=1, maxLength=512)]
    value: Annotated[str, doc("Its value.", minLength=1, maxLength=512)]


class KubeConfigAuthExec(Model):
    """A command that prints credentials."""

    command: Annotated[str, doc("The program to run.", minLength=1, maxLength=1024)]
    args: Annotated[
        tuple[Annotated[str, doc("An argument.", minLength=1, maxLength=512)], ...],
        doc("Its arguments.", list_type="atomic", minItems=1, maxItems=100),
    ] = ()
    env: Annotated[
        tuple[KubeConfigAuthExecEnv, ...],
        doc(
            "Variables that it gets beside those of the machine.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = ()
    api_version: Annotated[
        str,
        doc(
            "Version of ExecCredential that it reads and writes. client.authentication.k8s.io/v1 if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    provide_cluster_info: Annotated[
        bool | None,
        doc("If true, it is told about the cluster in the variable KUBERNETES_EXEC_INFO. False if left out."),
    ] = None


class KubeConfigUser(Model):
    """Who the machine says it is: by `authProvider` or by `exec`."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    auth_provider: Annotated[
        KubeConfigAuthProvider | None, doc("A way to authenticate that is built into the client.")
    ] = None
    exec: Annotated[KubeConfigAuthExec | None, doc("A command that prints credentials.")] = None


class FileDiscoveryKubeConfig(Model):
    """A kubeconfig that is written to the machine before it joins."""

    cluster: Annotated[
        KubeConfigCluster,
        doc("Which API server to talk to. The Cluster's, with its authority, if left out."),
    ] = KubeConfigCluster()
    user: Annotated[KubeConfigUser, doc("Who the machine says it is.")]


class FileDiscovery(Model):
    """Trust by a kubeconfig file."""

    kube_config_path: Annotated[
        str, doc("Path or URL of the kubeconfig that names the API server.", minLength=1, maxLength=512)
    ]
    kube_config: Annotated[
        FileDiscoveryKubeConfig | None,
        doc("If set, a kubeconfig with this content is written to kubeConfigPath."),
    ] = None


class Discovery(Model):
    """One of two: `bootstrapToken` or `file`."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    bootstrap_token: Annotated[BootstrapTokenDiscovery, doc("Trust by a token, the usual way. Excludes file.")] = (
        BootstrapTokenDiscovery()
    )
    file: Annotated[FileDiscovery | None, doc("Trust by a kubeconfig file. Excludes bootstrapToken.")] = None
    tls_bootstrap_token: Annotated[
        str,
        doc(
            "Token with which the kubelet asks for its certificate. The token of bootstrapToken if left out; needed "
            "with file if that kubeconfig has no credentials.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
