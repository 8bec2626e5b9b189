"""The Secrets and the ConfigMap that pods have their files from: for each program its own."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from nagaya.api.cluster.secrets import TYPE
from nagaya.api.controlplane.hosted_arguments import KINE, KUBE_APISERVER
from nagaya.controlplane.hosted.components import kine, needs
from nagaya.controlplane.hosted.components.configuration import ENCRYPTION
from nagaya.controlplane.hosted.components.facts import KineStore
from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.kubernetes.api_server import CONFIGURATION
from nagaya.controlplane.hosted.kubernetes.kinds import CONFIG_MAPS, SECRETS, Planned
from nagaya.controlplane.hosted.kubernetes.metadata import metadata
from nagaya.controlplane.hosted.kubernetes.pods import secret_key
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy


def planned(tenancy: Tenancy) -> Iterator[Planned]:
    """The Secrets and the ConfigMap. Raises ValueError if files are missing."""
    body = {**metadata(tenancy, KUBE_APISERVER), "data": tenancy.configuration()}
    yield Planned(CONFIG_MAPS, tenancy.namespace, names.object_name(tenancy.name, CONFIGURATION), body)
    for program in needs.needed(tenancy.facts):
        content = {secret_key(file): data for file, data in tenancy.needed(program).items()}
        if program == KUBE_APISERVER and tenancy.encryption:
            content[ENCRYPTION] = tenancy.encryption
        yield _secret(tenancy, program, content)
    if isinstance(tenancy.facts.store, KineStore):
        secrets = kine.environment(tenancy.facts.store)
        yield _secret(tenancy, KINE, {name: value.encode() for name, value in secrets.items()})


def _secret(tenancy: Tenancy, program: str, data: dict[str, bytes]) -> Planned:
    encoded = {name: base64.b64encode(content).decode() for name, content in data.items()}
    body = {**metadata(tenancy, program), "type": TYPE, "data": encoded}
    return Planned(SECRETS, tenancy.namespace, names.object_name(tenancy.name, program), body)
