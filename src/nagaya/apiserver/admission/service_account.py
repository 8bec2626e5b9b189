"""Every pod runs as a service account that exists, and finds its token where programs look for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.pods import PODS, containers
from nagaya.apiserver.authz.pod_references import MIRROR_POD
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.system_metadata import generate_name

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_VOLUME: Final = "kube-api-access-"
_MOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_EXPIRY: Final = 3607
_MODE: Final = 0o644
_ENFORCE: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
_ATTEMPTS: Final = 10  # the account `default` is made shortly after its namespace


class ServiceAccounts(Plugin):
    """Gives pods their service account."""

    resources = PODS

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def mutate(self, write: Attributes) -> None:
        """Name the account, mount its token, and use its image pull secrets."""
        pod = write.object
        if pod is None or write.operation != "CREATE" or write.subresource:
            return
        if MIRROR_POD not in (pod["metadata"].get("annotations") or {}):
            spec = pod["spec"]
            if not spec.get("serviceAccountName"):
                spec["serviceAccountName"] = spec["serviceAccount"] = "default"
            account = await self._account(write, spec["serviceAccountName"])
            if _automounts(account, spec):
                self._mount(spec)
            if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
                spec["imagePullSecrets"] = [{"name": each["name"]} for each in account["imagePullSecrets"]]
        await self.validate(write)

    async def validate(self, write: Attributes) -> None:
        """Hold a pod to what its account allows."""
        pod = write.object
        if pod is None or write.subresource not in ("", "ephemeralcontainers"):
            return
        added = write.subresource == "ephemeralcontainers" and write.operation == "UPDATE"
        if write.operation != "CREATE" and not added:
            return
        spec = pod["spec"]
        if not added and MIRROR_POD in (pod["metadata"].get("annotations") or {}):
            _check_mirror(write, spec)
            return
        name = spec.get("serviceAccountName")
        if not name:
            shown = f"{write.namespace}/{pod['metadata'].get('name') or ''}"
            raise write.forbidden(f"no service account specified for pod {shown}")
        account = await self._account(write, name)
        if (account["metadata"].get("annotations") or {}).get(_ENFORCE) in _TRUE:
            problem = next(_foreign_secrets(account, spec, added=added), "")
            if problem:
                raise write.forbidden(problem)

    async def _account(self, write: Attributes, name: str) -> JsonObject:
        for attempt in range(_ATTEMPTS if name == "default" else 1):
            if attempt:
                await asyncio.sleep(0.1 + self._backend.world.random.random() / 10)
            record = self._backend.store.get("serviceaccounts", f"{write.namespace}/{name}")
            if record is not None:
                return record.object()
        missing = f"serviceaccount {gostring.quote(name)} not found"
        raise write.forbidden(f"error looking up service account {write.namespace}/{name}: {missing}")

    def _mount(self, spec: JsonObject) -> None:
        volumes = spec.get("volumes") or []
        present = next((each["name"] for each in volumes if each.get("name", "").startswith(_VOLUME)), "")
        name = present or generate_name(_VOLUME, self._backend.world)
        needed = False
        for container in containers(spec):
            mounts = container.get("volumeMounts") or []
            if all(each.get("mountPath") != _MOUNT for each in mounts):
                container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _MOUNT}]
                needed = True
        if needed and not present:
            spec["volumes"] = [*volumes, {"name": name, "projected": _token_volume()}]


def _token_volume() -> JsonObject:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _EXPIRY, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
        "defaultMode": _MODE,
    }


def _automounts(account: JsonObject, spec: JsonObject) -> bool:
    for wish in (spec.get("automountServiceAccountToken"), account.get("automountServiceAccountToken")):
        if wish is not None:
            return bool(wish)
    return True


def _check_mirror(write: Attributes, spec: JsonObject) -> None:
    """A pod that a node reports but that nobody scheduled gets no credentials."""
    if spec.get("serviceAccountName"):
        raise write.forbidden("a mirror pod may not reference service accounts")
    volumes = spec.get("volumes") or ()
    if any("secret" in each for each in volumes) or any(_environment_secrets(spec)) or spec.get("imagePullSecrets"):
        raise write.forbidden("a mirror pod may not reference secrets")
    for volume in volumes:
        for source in (volume.get("projected") or {}).get("sources") or ():
            if "secret" in source:
                raise write.forbidden("a mirror pod may not reference secrets")
            if "serviceAccountToken" in source:
                raise write.forbidden("a mirror pod may not use ServiceAccountToken volume projections")


def _environment_secrets(spec: JsonObject, *members: str) -> Iterator[tuple[str, str]]:
    """Each secret in a container's environment: where it is used, and its name."""
    titles = {
        "initContainers": "init container",
        "containers": "container",
        "ephemeralContainers": "ephemeral container",
    }
    for member in members or titles:
        for container in containers(spec, member):
            where = f"{titles[member]} {container.get('name')} with"
            for variable in container.get("env") or ():
                reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
                if reference is not None:
                    yield f"{where} envVar {variable.get('name')}", reference.get("name") or ""
            for source in container.get("envFrom") or ():
                if source.get("secretRef") is not None:
                    yield f"{where} envFrom", source["secretRef"].get("name") or ""


def _foreign_secrets(account: JsonObject, spec: JsonObject, *, added: bool) -> Iterator[str]:
    """What is wrong with a pod whose account may only use its own secrets."""
    name = account["metadata"]["name"]
    own = {each.get("name") for each in account.get("secrets") or ()}
    refused = f"is not allowed because service account {name} does not reference that"
    if not added:
        for volume in spec.get("volumes") or ():
            secret = (volume.get("secret") or {}).get("secretName")
            if secret is not None and secret not in own:
                yield f'volume with secret.secretName="{secret}" {refused} secret'
    for where, secret in _environment_secrets(spec, *(("ephemeralContainers",) if added else _LASTING)):
        if secret not in own:
            yield f'{where} referencing secret.secretName="{secret}" {refused} secret'
    if not added:
        pulled = {each.get("name") for each in account.get("imagePullSecrets") or ()}
        for position, reference in enumerate(spec.get("imagePullSecrets") or ()):
            if reference.get("name") not in pulled:
                yield f'imagePullSecrets[{position}].name="{reference.get("name")}" {refused} imagePullSecret'


_LASTING: Final = ("initContainers", "containers")
