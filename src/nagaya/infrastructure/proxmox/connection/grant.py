"""Which namespaces may use a Secret with credentials of Proxmox VE.

A Secret serves its own namespace. It serves another one only if its annotation lists that namespace, so the owner of
the Secret decides and not whoever refers to it. What always holds:

- The grant is checked whenever the Secret is read, and with every reconcile: a grant that is withdrawn ends the use.
- A refusal has one wording, whether the Secret is missing, has no grant, or has a grant for others.
- A Secret of another namespace also says where its credentials go and who is trusted there: the referring object
  chooses neither, or a tenant could have the token sent to a host of his own.
- An object that refers to a Secret of another namespace puts no finalizer and no owner on it.
"""

from __future__ import annotations

import shlex

from nagaya.api.kind import Object
from nagaya.api.proxmox.group import ALLOWED_NAMESPACES
from nagaya.kube.key import Key


def is_granted(secret: Object, namespace: str) -> bool:
    """Whether objects of a namespace may use a Secret."""
    return secret.metadata.namespace == namespace or namespace in granted(secret)


def granted(secret: Object) -> tuple[str, ...]:
    """The other namespaces that may use it. There is no wildcard: a namespace of tomorrow gets nothing by itself."""
    listed = secret.metadata.annotations.get(ALLOWED_NAMESPACES, "").split(",")
    return tuple(dict.fromkeys(name for each in listed if (name := each.strip())))


def grant_command(secret: Key, namespace: str) -> str:
    """What the owner of the Secret runs."""
    value = shlex.quote(f"{ALLOWED_NAMESPACES}={namespace}")
    return f"kubectl annotate secret {shlex.quote(secret.name)} -n {shlex.quote(secret.namespace)} {value}"


def refusal(secret: Key, namespace: str) -> str:
    """Why a Secret of another namespace cannot be used. The same for one that does not exist."""
    return (
        f"Secret {secret} cannot be used from namespace {namespace}: it does not exist, or it does not allow that. Use "
        f"a Secret of namespace {namespace}, or have its owner run `{grant_command(secret, namespace)}` (several "
        "namespaces are separated by commas)."
    )
