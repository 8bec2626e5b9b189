"""TokenRequest: how a token for a service account is made.

In two steps, because validating admission comes between them: `prepare` finds the account, fills in what is left out
and checks the request; `issue` finds what the token is to be bound to and signs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from nagaya.apiserver.authn import claims
from nagaya.apiserver.authn.claims import Reference
from nagaya.apiserver.authn.facts import Audiences
from nagaya.apiserver.authn.jwt import Signer
from nagaya.apiserver.authn.lookups import ServiceAccountLookups, uid_of
from nagaya.apiserver.meta import field_errors, gostring, status, times
from nagaya.apiserver.meta.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.world import World

_KIND: Final = GroupKind("authentication.k8s.io", "TokenRequest")
DEFAULT_SECONDS: Final = 3600
_SHORTEST: Final = 600
_LONGEST: Final = 1 << 32
# Kubelets ask for exactly this where the pod did not: such tokens are accepted for a year, and only remarked in the
# audit log after the hour.
_WARN_ONLY_SECONDS: Final = 3607
_EXTENDED: Final = timedelta(days=365)


@dataclass(slots=True)
class Issued:
    """The answer to a TokenRequest, and what the client and the audit log should be told beside it."""

    token_request: JsonObject
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Binding:
    pod: JsonObject | None = None
    node: Reference | None = None
    secret: JsonObject | None = None


class TokenRequests:
    """Issues tokens for service accounts. `maximum` shortens what is asked for; zero means no limit."""

    def __init__(
        self,
        signer: Signer,
        issuer: str,
        api_audiences: Audiences,
        lookups: ServiceAccountLookups,
        world: World,
        maximum: int = 0,
        extend: bool = True,
    ) -> None:
        self._signer = signer
        self._issuer = issuer
        self._api_audiences = api_audiences
        self._lookups = lookups
        self._world = world
        self._maximum = maximum
        self._extend = extend

    def prepare(self, body: JsonObject, namespace: str, name: str) -> JsonObject:
        """The request, complete and checked. Raises 404 without the account, 409 for another uid, 422 for bad
        values."""
        metadata = body.get("metadata") or {}
        for key, own in (("name", name), ("namespace", namespace)):
            given = metadata.get(key)
            if given and given != own:
                problem = f"must match the service account {key} if specified"
                raise status.invalid(_KIND, name, [field_errors.invalid(f"metadata.{key}", given, problem)])
        account = self._account(namespace, name)
        uid = uid_of(account)
        asked = metadata.get("uid")
        if asked and asked != uid:
            why = f"the UID in the token request ({asked}) does not match the UID of the service account ({uid})"
            raise status.conflict(GroupResource(_KIND.group, _KIND.kind), name, why)
        spec = dict(body.get("spec") or {})
        spec["audiences"] = spec.get("audiences") or list(self._api_audiences)
        if spec.get("expirationSeconds") is None:
            spec["expirationSeconds"] = DEFAULT_SECONDS
        spec.setdefault("boundObjectRef", None)
        _check_lifetime(spec["expirationSeconds"])
        own_metadata = {
            **metadata,
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "creationTimestamp": times.of(self._world.clock.now()),
        }
        return {
            "kind": _KIND.kind,
            "apiVersion": f"{_KIND.group}/v1",
            "metadata": own_metadata,
            "spec": spec,
            "status": {"token": "", "expirationTimestamp": None},
        }

    def issue(self, prepared: JsonObject) -> Issued:
        """Sign the token of a prepared request. Raises 400, 404 or 409 if it cannot be bound to what is asked."""
        namespace, name = prepared["metadata"]["namespace"], prepared["metadata"]["name"]
        account = self._account(namespace, name)
        spec = dict(prepared["spec"])
        binding = self._binding(spec["boundObjectRef"], namespace, name)
        issued = Issued({**prepared, "spec": spec})
        if 0 < self._maximum < spec["expirationSeconds"]:
            issued.warnings.append(
                f"requested expiration of {spec['expirationSeconds']} seconds shortened to {self._maximum} seconds"
            )
            spec["expirationSeconds"] = self._maximum
        lifetime, warn_after = self._lifetime(spec, binding)
        now, token_id = self._world.clock.now(), self._world.uid()
        signed = self._signer.sign(
            claims.bound(
                self._issuer,
                token_id,
                account,
                tuple(spec["audiences"]),
                now,
                lifetime,
                pod=binding.pod,
                node=binding.node,
                secret=binding.secret,
                warn_after=warn_after,
            )
        )
        end = now + timedelta(seconds=spec["expirationSeconds"])
        issued.token_request["status"] = {"token": signed, "expirationTimestamp": times.of(end)}
        issued.annotations["authentication.kubernetes.io/issued-credential-id"] = f"JTI={token_id}"
        return issued

    def _account(self, namespace: str, name: str) -> JsonObject:
        account = self._lookups.get_service_account(namespace, name)
        if account is None:
            raise status.not_found(GroupResource("", "serviceaccounts"), name)
        return account

    def _lifetime(self, spec: JsonObject, binding: _Binding) -> tuple[timedelta, timedelta | None]:
        asked = timedelta(seconds=spec["expirationSeconds"])
        own = set(spec["audiences"]) <= set(self._api_audiences)
        if self._extend and binding.pod is not None and spec["expirationSeconds"] == _WARN_ONLY_SECONDS and own:
            return _EXTENDED, asked
        return asked, None

    def _binding(self, reference: JsonObject | None, namespace: str, account: str) -> _Binding:
        if reference is None:
            return _Binding()
        kind = _kind_of(reference)
        name = reference.get("name") or ""
        binding = _Binding()
        if kind.group_kind == ("", "Pod"):
            found = binding.pod = self._pod(namespace, name, account)
            binding.node = self._node_of(found)
        elif kind.group_kind == ("", "Node"):
            found = _existing("nodes", name, self._lookups.get_node(name))
            binding.node = Reference.of(found)
        elif kind.group_kind == ("", "Secret"):
            found = binding.secret = _existing("secrets", name, self._lookups.get_secret(namespace, name))
        else:
            raise status.bad_request(f"cannot bind token to object of type {kind}")
        uid = reference.get("uid")
        if uid and uid != uid_of(found):
            why = (
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise status.conflict(GroupResource(kind.group, kind.kind), name, why)
        return binding

    def _pod(self, namespace: str, name: str, account: str) -> JsonObject:
        pod = _existing("pods", name, self._lookups.get_pod(namespace, name))
        if (pod.get("spec") or {}).get("serviceAccountName") != account:
            raise status.bad_request(
                f"cannot bind token for serviceaccount {gostring.quote(account)} "
                "to pod running with different serviceaccount name."
            )
        return pod

    def _node_of(self, pod: JsonObject) -> Reference | None:
        name = (pod.get("spec") or {}).get("nodeName")
        if not name:
            return None
        node = self._lookups.get_node(name)
        # A node that is gone is still named, so that whoever reads the token knows where the pod was meant to run.
        return Reference(name, "") if node is None else Reference.of(node)


def _kind_of(reference: JsonObject) -> GroupVersionKind:
    kind = reference.get("kind") or ""
    try:
        version = GroupVersion.parse(reference.get("apiVersion") or "")
    except ValueError:
        version = GroupVersion("", "")
    return GroupVersionKind(version.group, version.version, kind)


def _existing(resource: str, name: str, found: JsonObject | None) -> JsonObject:
    if found is None:
        raise status.not_found(GroupResource("", resource), name)
    return found


def _check_lifetime(seconds: int) -> None:
    where = "spec.expirationSeconds"
    problem = ""
    if seconds < _SHORTEST:
        problem = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        problem = "may not specify a duration larger than 2^32 seconds"
    if problem:
        raise status.invalid(_KIND, "", [field_errors.invalid(where, seconds, problem)])
