"""Configuration files of kube-apiserver: who may be anonymous, what is audited, what pods may do, where calls go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from nagaya.api.controlplane.hosted_components import AUDIT_POLICY_FIELDS, PodSecurity
from nagaya.api.controlplane.hosted_issuers import issuer_problems
from nagaya.controlplane.hosted.components.audit_policy import POLICY
from nagaya.controlplane.hosted.components.facts import TenantFacts, TunnelFacts
from nagaya.pki import certificates

ADMISSION: Final = "admission.yaml"
AUDIT_POLICY: Final = "audit-policy.yaml"
AUTHENTICATION: Final = "authentication.yaml"
EGRESS: Final = "egress-selector.yaml"
ENCRYPTION: Final = "config.yaml"
"""The key of the user's Secret, and so the name of its file. It is the only one that is a secret."""

ANONYMOUS_PATHS: Final = (
    "/healthz",
    "/livez",
    "/readyz",
    "/api/v1/namespaces/kube-public/configmaps/cluster-info",
)
"""What may be asked without saying who asks: whether the API is well, and what a machine must know before it joins."""


class _Plain(yaml.CSafeDumper):
    """Writes a value that occurs twice in full."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def files(facts: TenantFacts) -> dict[str, str]:
    """The files for the folder of configuration, by name. The same facts give the same bytes. Raises ValueError if
    settings cannot be written down."""
    contents: dict[str, Mapping[str, Any]] = {
        ADMISSION: admission(facts.settings.api_server.pod_security),
        AUDIT_POLICY: audit_policy(facts.settings.api_server.audit.policy),
        AUTHENTICATION: authentication(facts.settings.api_server.authentication.jwt),
    }
    if facts.tunnel is not None:
        contents[EGRESS] = egress(facts.tunnel)
    try:
        return {name: yaml.dump(content, Dumper=_Plain, sort_keys=True) for name, content in sorted(contents.items())}
    except RecursionError:
        raise ValueError("audit.policy or authentication.jwt of spec.apiServer is nested too deeply") from None


def authentication(jwt: tuple[Mapping[str, Any], ...] = ()) -> dict[str, Any]:
    """The AuthenticationConfiguration. v1 is served by all minors that are supported."""
    found: dict[str, Any] = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": True, "conditions": [{"path": path} for path in ANONYMOUS_PATHS]},
    }
    # An issuer that admission refuses is left out, whether or not admission has seen it.
    if accepted := [_issuer(each) for each in jwt if not any(issuer_problems(each))]:
        found["jwt"] = accepted
    return found


def _issuer(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry whose certificates were read and encoded again. Raises ValueError if they are none."""
    issuer = dict(entry["issuer"])
    if bundle := issuer.get("certificateAuthority"):
        try:
            issuer["certificateAuthority"] = certificates.reencoded(bundle.encode()).decode()
        except ValueError as error:
            raise ValueError(f"certificateAuthority of {issuer['url']} in authentication.jwt: {error}") from None
    return {**entry, "issuer": issuer}


def audit_policy(own: Mapping[str, Any]) -> dict[str, Any]:
    """The user's Policy, or ours."""
    rules = {name: own[name] for name in AUDIT_POLICY_FIELDS if name in own}
    return {**(rules or POLICY), "apiVersion": "audit.k8s.io/v1", "kind": "Policy"}


def admission(security: PodSecurity) -> dict[str, Any]:
    """The AdmissionConfiguration: what PodSecurity demands of namespaces that do not say it by labels."""
    levels = {
        "enforce": security.enforce or "privileged",
        "audit": security.audit or "baseline",
        "warn": security.warn or "privileged",
    }
    versions = {f"{mode}-version": "latest" for mode in levels}
    pod_security = {
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": {**levels, **versions},
        "exemptions": {"usernames": [], "runtimeClasses": [], "namespaces": ["kube-system"]},
    }
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "PodSecurity", "configuration": pod_security}],
    }


def egress(tunnel: TunnelFacts) -> dict[str, Any]:
    """The EgressSelectorConfiguration: calls into the cluster go through the tunnel, all others as ever."""
    transport = {"uds": {"udsName": tunnel.socket}}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [
            {"name": "cluster", "connection": {"proxyProtocol": "GRPC", "transport": transport}},
        ],
    }
