"""Users, and the names that mean something to Kubernetes.

A `User` is what authentication finds out and all that authorisation, admission and audit ever learn about who asks. It
is immutable: whoever needs another one makes another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.names import dns_label, dns_subdomain
from nagaya.apiserver.meta.status import JsonObject

MASTERS: Final = "system:masters"
NODES: Final = "system:nodes"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS_NAME: Final = "system:anonymous"
SERVICE_ACCOUNTS: Final = "system:serviceaccounts"

CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
POD_NAME: Final = "authentication.kubernetes.io/pod-name"
POD_UID: Final = "authentication.kubernetes.io/pod-uid"
NODE_NAME: Final = "authentication.kubernetes.io/node-name"
NODE_UID: Final = "authentication.kubernetes.io/node-uid"

_SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"
_NODE_PREFIX: Final = "system:node:"

Extra = Mapping[str, tuple[str, ...]]
NO_EXTRA: Final[Extra] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class User:
    """Someone who asks. Groups keep their order, because they are shown in it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Extra = field(default_factory=lambda: NO_EXTRA, hash=False)

    def with_groups(self, groups: Iterable[str]) -> User:
        """The same user as a member of these groups only."""
        return User(self.name, self.uid, tuple(groups), self.extra)

    def as_info(self) -> JsonObject:
        """The `UserInfo` of reviews and admission requests; what is empty is left out."""
        info: JsonObject = {}
        if self.name:
            info["username"] = self.name
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in sorted(self.extra.items())}
        return info


ANONYMOUS: Final = User(ANONYMOUS_NAME, groups=(UNAUTHENTICATED,))


def authenticated(user: User) -> User:
    """The user as a member of `system:authenticated`, unless something already says whether it is."""
    if user.name == ANONYMOUS_NAME or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return user.with_groups((*user.groups, AUTHENTICATED))


def service_account_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{_SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    """The groups every service account of a namespace is in."""
    return (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}")


def split_service_account(username: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that has this user name; None if it is not a service account's."""
    if not username.startswith(_SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, separator, name = username.removeprefix(_SERVICE_ACCOUNT_PREFIX).partition(":")
    if not separator or ":" in name or dns_label(namespace) or dns_subdomain(name):
        return None
    return namespace, name


def node_of(user: User) -> str | None:
    """The node that a user speaks for; None if it is not a node. The name may be empty, and then nothing is allowed to
    it."""
    if user.name.startswith(_NODE_PREFIX) and NODES in user.groups:
        return user.name.removeprefix(_NODE_PREFIX)
    return None


def node_name_in(username: str) -> str | None:
    """The node whose user name this is, whatever groups the user is in; None if it is not a well-formed one."""
    if not username.startswith(_NODE_PREFIX):
        return None
    name = username.removeprefix(_NODE_PREFIX)
    return None if dns_subdomain(name) else name


def quoted(values: Iterable[str]) -> str:
    """Several texts as Go's `%q` prints a list of strings: `["a" "b"]`."""
    return f"[{' '.join(gostring.quote(value) for value in values)}]"
