"""Which plugins a server has, in their order."""

from __future__ import annotations

from collections.abc import Mapping

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.claim_resize import ClaimResize
from nagaya.apiserver.admission.default_classes import DefaultIngressClass, DefaultStorageClass
from nagaya.apiserver.admission.default_tolerations import DefaultTolerations
from nagaya.apiserver.admission.given_rules import GivenRules, Rules
from nagaya.apiserver.admission.limit_ranges import LimitRanges
from nagaya.apiserver.admission.mutating_policies import MutatingPolicies
from nagaya.apiserver.admission.mutating_webhooks import MutatingWebhooks
from nagaya.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from nagaya.apiserver.admission.node_restriction import NodeWrites
from nagaya.apiserver.admission.node_taints import NodeTaints
from nagaya.apiserver.admission.pod_security import PodSecurity
from nagaya.apiserver.admission.priority import Priority
from nagaya.apiserver.admission.resource_quotas import Quotas
from nagaya.apiserver.admission.runtime_class import RuntimeClasses
from nagaya.apiserver.admission.service_account import ServiceAccounts
from nagaya.apiserver.admission.signing_requests import SigningRequests
from nagaya.apiserver.admission.storage_protection import StorageProtection
from nagaya.apiserver.admission.validating_policies import ValidatingPolicies
from nagaya.apiserver.admission.validating_webhooks import ValidatingWebhooks
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.webhooks.client import WebhookClient


def default_plugins(
    backend: Backend, webhooks: WebhookClient, rules: Mapping[str, Rules], *, nodes: bool = False
) -> list[Plugin]:
    """All plugins that are on by default, the given rules, and with `nodes` what keeps nodes to their own objects."""
    store = backend.store
    return [
        NamespaceLifecycle(store),
        LimitRanges(store),
        ServiceAccounts(backend),
        *([NodeWrites(backend)] if nodes else []),
        NodeTaints(),
        PodSecurity(store),
        Priority(store),
        DefaultTolerations(),
        DefaultStorageClass(store),
        StorageProtection(),
        ClaimResize(store),
        RuntimeClasses(store),
        SigningRequests(backend),
        DefaultIngressClass(store),
        *([GivenRules(rules, store)] if rules else []),
        MutatingPolicies(backend),
        MutatingWebhooks(backend, webhooks),
        ValidatingPolicies(backend),
        ValidatingWebhooks(backend, webhooks),
        Quotas(backend),
    ]
