"""References to objects: v1beta1 wrote down a version and a namespace, v1beta2 finds both by itself."""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.conversion.draft import Draft

RENEWED_GROUPS: Final = ("bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io")
"""Groups with kubeadm's kinds, which are converted themselves: what refers to them has to follow."""


def contract_reference(draft: Draft, name: str) -> None:
    """Make a reference with an apiVersion into one with an API group, in place."""
    reference = draft.at(name)
    if reference is None or "apiGroup" in reference.content:
        return
    _stays_in_namespace(reference)
    version = reference.take("apiVersion")
    group, slash, _ = version.rpartition("/") if isinstance(version, str) else ("", "", "")
    if slash:
        ordered = {"apiGroup": group, **reference.content}
        reference.content.clear()
        reference.content.update(ordered)
    elif version:
        message = f"not carried over: {version!r} has no API group. Set apiGroup to that of the provider."
        reference.report("apiVersion", message, loss=True)


def take_template_reference(draft: Draft, name: str) -> dict[str, Any] | None:
    """Remove a reference to a template and hand it over in its new form, which keeps the version."""
    reference = draft.take_map(name)
    if reference is None:
        return None
    _stays_in_namespace(reference)
    renew_version(reference)
    return {key: reference.content[key] for key in ("apiVersion", "kind", "name") if key in reference.content}


def renew_version(reference: Draft) -> bool:
    """Let something that names a kubeadm kind at v1beta1 name it at v1beta2, and tell whether it did."""
    group, _, version = str(reference.content.get("apiVersion")).rpartition("/")
    kubeadm = str(reference.content.get("kind")).startswith("Kubeadm")
    if group not in RENEWED_GROUPS or version != "v1beta1" or not kubeadm:
        return False
    reference.put(f"{group}/v1beta2", "apiVersion")
    return True


def _stays_in_namespace(reference: Draft) -> None:
    for server_set in ("uid", "resourceVersion"):
        reference.take(server_set)
    reference.drop("fieldPath", "not carried over: references are to whole objects.")
    namespace = reference.take("namespace")
    if not namespace or namespace == reference.namespace:
        return
    if reference.namespace:
        message = f"{namespace!r} is not carried over: v1beta2 looks in the namespace of the object, which is "
        reference.report("namespace", f"{message}{reference.namespace!r}. Move the object there.", loss=True)
    else:
        message = f"{namespace!r} is not written down any more. Apply the object to that namespace."
        reference.report("namespace", message, loss=False)
