"""The kinds of the group `apps`, which keep pods running."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.controller_revision import controller_revisions
from nagaya.apiserver.builtins.kinds.daemon_set import daemon_sets
from nagaya.apiserver.builtins.kinds.deployment import deployments
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.replica_set import replica_sets
from nagaya.apiserver.builtins.kinds.stateful_set import stateful_sets
from nagaya.apiserver.meta.gvk import GroupResource

_GROUP: Final = "apps"

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource(_GROUP, "deployments"): deployments(),
    GroupResource(_GROUP, "replicasets"): replica_sets(),
    GroupResource(_GROUP, "statefulsets"): stateful_sets(),
    GroupResource(_GROUP, "daemonsets"): daemon_sets(),
    GroupResource(_GROUP, "controllerrevisions"): controller_revisions(),
}
