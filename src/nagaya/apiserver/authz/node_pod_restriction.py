"""What a node may write about pods: their status, their eviction, mirrors of what it runs by itself, and tokens for
them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from nagaya.apiserver.authn.lookups import uid_of
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz import pod_references
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Authorizer
from nagaya.apiserver.meta import gostring, status
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject


class Lookups(Protocol):
    """Objects the rules refer to, from the server's memory."""

    def get_pod(self, namespace: str, name: str) -> JsonObject | None:
        """A Pod."""
        ...

    def get_node(self, name: str) -> JsonObject | None:
        """A Node."""
        ...

    def get_claim(self, namespace: str, name: str) -> JsonObject | None:
        """A PersistentVolumeClaim."""
        ...

    def get_volume(self, name: str) -> JsonObject | None:
        """A PersistentVolume."""
        ...

    def get_csi_driver(self, name: str) -> JsonObject | None:
        """A CSIDriver."""
        ...


class Write(NamedTuple):
    """One write on its way through admission. The operation is CREATE, UPDATE or DELETE."""

    user: User
    operation: str
    resource: GroupResource
    subresource: str
    namespace: str
    name: str
    object: JsonObject | None
    old: JsonObject | None

    def forbidden(self, why: str) -> ApiError:
        """The refusal of this write."""
        metadata = (self.object or {}).get("metadata") or {}
        name = self.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
        return status.forbidden(self.resource, name, why)


class PodRestriction:
    """Refuses what nodes must not write about pods."""

    def __init__(self, lookups: Lookups, authorizer: Authorizer) -> None:
        self._lookups = lookups
        self._authorizer = authorizer

    def check_pod(self, node: str, write: Write) -> None:
        """Raise 403 or 404 unless the node may write this pod."""
        quoted = gostring.quote(node)
        if write.subresource == "status":
            _pod_status(quoted, node, write)
        elif write.subresource == "eviction":
            self._eviction(node, write)
        elif write.subresource:
            part = gostring.quote(write.subresource)
            raise write.forbidden(f"unexpected pod subresource {part}, only 'status' and 'eviction' are allowed")
        elif write.operation == "CREATE":
            self._new_pod(quoted, node, write)
        elif write.operation == "DELETE":
            if _node_name(self._existing_pod(write.namespace, write.name)) != node:
                raise write.forbidden(f"node {quoted} can only delete pods with spec.nodeName set to itself")
        else:
            operation = gostring.quote(write.operation)
            raise write.forbidden(
                f"unexpected operation {operation}, node {quoted} can only create and delete mirror pods"
            )

    def _existing_pod(self, namespace: str, name: str) -> JsonObject:
        pod = self._lookups.get_pod(namespace, name)
        if pod is None:
            raise status.not_found(GroupResource("", "pod"), name)
        return pod

    def _new_pod(self, quoted: str, node: str, write: Write) -> None:
        pod = write.object or {}
        if not pod_references.is_mirror(pod):
            mark = gostring.quote(pod_references.MIRROR_POD)
            raise write.forbidden(f"pod does not have {mark} annotation, node {quoted} can only create mirror pods")
        if _node_name(pod) != node:
            raise write.forbidden(f"node {quoted} can only create pods with spec.nodeName set to itself")
        owners = pod["metadata"].get("ownerReferences") or []
        if len(owners) > 1:
            raise write.forbidden(f"node {quoted} can only create pods with a single owner reference set to itself")
        owner = owners[0] if owners else {}
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            raise write.forbidden(f"node {quoted} can only create pods with an owner reference set to itself")
        if not owner.get("controller"):
            raise write.forbidden(f"node {quoted} can only create pods with a controller owner reference set to itself")
        if owner.get("blockOwnerDeletion"):
            raise write.forbidden(f"node {quoted} must not set blockOwnerDeletion on an owner reference")
        own = self._lookups.get_node(node)
        if own is None:
            raise status.not_found(GroupResource("", "node"), node)
        if owner.get("uid") != uid_of(own):
            raise write.forbidden(f"node {node} UID mismatch: expected {owner.get('uid')} got {uid_of(own)}")
        try:
            reference = pod_references.first_reference(pod)
        except ValueError as problem:
            raise write.forbidden(f"error checking mirror pod for API references: {problem}") from None
        if reference:
            raise write.forbidden(f"node {quoted} can not create pods that reference {reference}")

    def _eviction(self, node: str, write: Write) -> None:
        if write.operation != "CREATE":
            raise write.forbidden(f"unexpected operation {write.operation}")
        name = write.name or ((write.object or {}).get("metadata") or {}).get("name") or ""
        if not name:
            raise write.forbidden("could not determine pod from request data")
        if _node_name(self._existing_pod(write.namespace, name)) != node:
            raise write.forbidden(f"node {node} can only evict pods with spec.nodeName set to itself")

    def check_token(self, node: str, write: Write) -> None:
        """Raise 403 or 404 unless the node may have this token."""
        if write.operation != "CREATE" or write.subresource != "token":
            return
        spec = (write.object or {}).get("spec") or {}
        reference = spec.get("boundObjectRef") or {}
        if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod") or not reference.get("name"):
            raise write.forbidden("node requested token not bound to a pod")
        uid = reference.get("uid")
        if not uid:
            raise write.forbidden("node requested token with a pod binding without a uid")
        pod = self._existing_pod(write.namespace, reference["name"])
        if uid != uid_of(pod):
            raise write.forbidden(
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
        if _node_name(pod) != node:
            raise write.forbidden("node requested token bound to a pod scheduled on a different node")
        self._audience(spec.get("audiences") or [], pod, write)

    def _audience(self, audiences: list[str], pod: JsonObject, write: Write) -> None:
        """A node gets tokens only for audiences that the pod's volumes ask for, unless a role says otherwise."""
        if len(audiences) > 1:
            raise write.forbidden("node may only request 0 or 1 audiences")
        audience = audiences[0] if audiences else ""
        found, problems = self._pod_asks_for(pod, audience)
        quoted = gostring.quote(audience)
        if problems and not found:
            raise write.forbidden(f"error validating audience {quoted}: {status.aggregate(problems)}")
        asked = Attributes(
            write.user,
            "request-serviceaccounts-token-audience",
            version="v1",
            resource=audience,
            name=write.name,
            namespace=write.namespace,
        )
        if not found and not self._authorizer.authorize(asked).allowed:
            raise write.forbidden(
                f"audience {quoted} not found in pod spec volume, "
                f"{write.user.name} is not authorized to request tokens for this audience"
            )

    def _pod_asks_for(self, pod: JsonObject, audience: str) -> tuple[bool, list[str]]:
        problems: list[str] = []
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            for source in (volume.get("projected") or {}).get("sources") or ():
                token = source.get("serviceAccountToken")
                if token is not None and (token.get("audience") or "") == audience:
                    return True, []
            try:
                driver = self._driver_of(pod, volume)
            except LookupError as missing:
                problems.append(str(missing.args[0]))
                continue
            requests = (driver or {}).get("tokenRequests") or ()
            if any((request.get("audience") or "") == audience for request in requests):
                return True, []
        return False, problems

    def _driver_of(self, pod: JsonObject, volume: JsonObject) -> JsonObject | None:
        """The spec of the CSI driver behind a volume; None if there is none. Raises LookupError for what is missing."""
        name = (volume.get("csi") or {}).get("driver") or ""
        claim = pod_references.volume_claim(pod, volume)
        if claim:
            found = self._lookups.get_claim(pod["metadata"]["namespace"], claim)
            if found is None:
                raise LookupError(f"persistentvolumeclaim {gostring.quote(claim)} not found")
            volume_name = (found.get("spec") or {}).get("volumeName") or ""
            persistent = self._lookups.get_volume(volume_name)
            if persistent is None:
                raise LookupError(f"persistentvolume {gostring.quote(volume_name)} not found")
            name = ((persistent.get("spec") or {}).get("csi") or {}).get("driver") or ""
        if not name:
            return None
        driver = self._lookups.get_csi_driver(name)
        if driver is None:
            raise LookupError(f"csidriver.storage.k8s.io {gostring.quote(name)} not found")
        spec: JsonObject = driver.get("spec") or {}
        return spec


def _node_name(pod: JsonObject) -> str:
    name: str = (pod.get("spec") or {}).get("nodeName") or ""
    return name


def _pod_status(quoted: str, node: str, write: Write) -> None:
    if write.operation != "UPDATE":
        raise write.forbidden(f"unexpected operation {gostring.quote(write.operation)}")
    old, new = write.old or {}, write.object or {}
    if _node_name(old) != node:
        own = "for pods with spec.nodeName set to itself"
        raise write.forbidden(f"node {quoted} can only update pod status {own}")
    if (old["metadata"].get("labels") or {}) != (new["metadata"].get("labels") or {}):
        raise write.forbidden(f"node {quoted} cannot update labels through pod status")
    before, after = old.get("status") or {}, new.get("status") or {}
    if _claims(before) != _claims(after):
        raise write.forbidden(f"node {quoted} cannot update resource claim statues")
    if before.get("extendedResourceClaimStatus") != after.get("extendedResourceClaimStatus"):
        raise write.forbidden(f"node {quoted} cannot update extended resource claim status")


def _claims(pod_status: JsonObject) -> list[tuple[object, object]]:
    return [(each.get("name"), each.get("resourceClaimName")) for each in pod_status.get("resourceClaimStatuses") or ()]
