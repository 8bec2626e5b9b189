"""What the audit log of a tenant tells unless its owner decides otherwise: who changed what, and who looked at secrets.

The first rule that fits counts. What components say to each other all day is left out: it would be nearly all of the
log, and tells nothing of people. Contents are left out everywhere, so that no secret gets into the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_COMPONENTS: Final = (
    "system:apiserver",
    "system:kube-controller-manager",
    "system:kube-scheduler",
    "system:kube-proxy",
)
_READ: Final = ("get", "list", "watch")

POLICY: Final[Mapping[str, Any]] = {
    "omitStages": ["RequestReceived"],
    "rules": [
        # Whether it is well, what it can do, and what changes every second.
        {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version", "/openapi/*"]},
        {
            "level": "None",
            "resources": [
                {"group": "", "resources": ["events"]},
                {"group": "events.k8s.io", "resources": ["events"]},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
            ],
        },
        # Secrets, and tokens of others: also who only looked.
        {
            "level": "Metadata",
            "resources": [
                {"group": "", "resources": ["secrets", "configmaps", "serviceaccounts/token"]},
                {"group": "authentication.k8s.io", "resources": ["tokenreviews"]},
            ],
            "omitManagedFields": True,
        },
        # Ways into running pods.
        {
            "level": "Metadata",
            "resources": [
                {
                    "group": "",
                    "resources": ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "services/proxy"],
                }
            ],
        },
        # What nodes and components read, and what nodes tell of themselves.
        {"level": "None", "userGroups": ["system:nodes"], "verbs": [*_READ]},
        {
            "level": "None",
            "userGroups": ["system:nodes"],
            "resources": [{"group": "", "resources": ["nodes/status", "pods/status"]}],
        },
        {"level": "None", "users": [*_COMPONENTS], "verbs": [*_READ]},
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"], "verbs": [*_READ]},
        # Everything else: who did what to which object.
        {"level": "Metadata", "omitManagedFields": True},
    ],
}
