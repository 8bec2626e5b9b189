"""Which plugins a server has, in their order."""

from __future__ import annotations

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.mutating_policies import MutatingPolicies
from nagaya.apiserver.admission.mutating_webhooks import MutatingWebhooks
from nagaya.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from nagaya.apiserver.admission.validating_policies import ValidatingPolicies
from nagaya.apiserver.admission.validating_webhooks import ValidatingWebhooks
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.webhooks.client import WebhookClient


def default_plugins(backend: Backend, webhooks: WebhookClient) -> list[Plugin]:
    """All plugins that are on by default."""
    return [
        NamespaceLifecycle(backend.store),
        MutatingPolicies(backend),
        MutatingWebhooks(backend, webhooks),
        ValidatingPolicies(backend),
        ValidatingWebhooks(backend, webhooks),
    ]
