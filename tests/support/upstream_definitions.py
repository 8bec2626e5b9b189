"""Puts what upstream's managers need into an API server: custom resource definitions, and webhooks as addresses.

Upstream's manifests are meant for managers that run as pods behind a Service, with a certificate from cert-manager.
Here the managers are processes, so a webhook gets an address on loopback and the certificate of its authority instead.
Of each kind only v1beta2 is served: no test uses another version, and without one there is nothing to convert.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import yaml

from support.upstream_client import Client, Manifest, condition

VERSION = "v1beta2"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WEBHOOKS = {
    kind: f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s"
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
}


def read_manifest(path: Path) -> list[Manifest]:
    """Every object in a file."""
    with path.open() as file:
        return [document for document in yaml.load_all(file, yaml.CSafeLoader) if document is not None]


def definition(document: Manifest) -> Manifest:
    """A custom resource definition that serves v1beta2 alone and says which contract that version fulfils."""
    versions = [version for version in document["spec"]["versions"] if version["name"] == VERSION]
    assert versions, f"{document['metadata']['name']} has no {VERSION}"
    labels = {**document["metadata"].get("labels", {}), f"cluster.x-k8s.io/{VERSION}": VERSION}
    spec = {key: value for key, value in document["spec"].items() if key != "conversion"}
    return {
        **document,
        "metadata": {**document["metadata"], "labels": labels},
        "spec": {**spec, "versions": versions},
    }


def webhook_configuration(document: Manifest, part: str, port: int, authority: bytes) -> Manifest:
    """A webhook configuration under a name of its own that leads to a port on loopback."""
    bundle = base64.b64encode(authority).decode()
    webhooks = []
    for webhook in document["webhooks"]:
        address = f"https://127.0.0.1:{port}{webhook['clientConfig']['service']['path']}"
        webhooks.append({**webhook, "clientConfig": {"url": address, "caBundle": bundle}})
    name = f"{part}-{document['metadata']['name']}"
    return {**document, "metadata": {**document["metadata"], "name": name}, "webhooks": webhooks}


def install_definitions(client: Client, documents: Iterable[Manifest]) -> list[str]:
    """Create the definitions and wait until the API server serves them all; the paths of what was created."""
    paths = []
    for document in documents:
        client.request("POST", DEFINITIONS, definition(document))
        paths.append(f"{DEFINITIONS}/{document['metadata']['name']}")
    for path in paths:
        client.until(f"{path} is established", partial(_is_established, client, path))
    return paths


def install_webhooks(
    client: Client, documents: Iterable[Manifest], part: str, port: int, authority: bytes
) -> list[str]:
    """Create the webhook configurations of one manager; the paths of what was created."""
    paths = []
    for document in documents:
        made = webhook_configuration(document, part, port, authority)
        collection = WEBHOOKS[document["kind"]]
        client.request("POST", collection, made)
        paths.append(f"{collection}/{made['metadata']['name']}")
    return paths


def remove_webhooks(client: Client, paths: Sequence[str]) -> None:
    """Delete webhook configurations."""
    for path in paths:
        client.delete(path)


def remove_definitions(client: Client, paths: Sequence[str]) -> None:
    """Delete definitions and all their objects, also those that a controller which is gone would have to release."""
    for path in paths:
        for found in client.items(_objects_path(client.get(path))):
            if found["metadata"].get("finalizers"):
                client.patch(_object_path(client.get(path), found), {"metadata": {"finalizers": None}})
        client.delete(path)
    for path in paths:
        client.until(f"{path} is gone", partial(_is_gone, client, path))


def _is_established(client: Client, path: str) -> bool:
    return condition(client.get(path), "Established") == "True"


def _is_gone(client: Client, path: str) -> bool:
    return client.find(path) is None


def _objects_path(document: Manifest) -> str:
    spec = document["spec"]
    return f"/apis/{spec['group']}/{VERSION}/{spec['names']['plural']}"


def _object_path(document: Manifest, found: Manifest) -> str:
    spec, metadata = document["spec"], found["metadata"]
    scope = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"/apis/{spec['group']}/{VERSION}{scope}/{spec['names']['plural']}/{metadata['name']}"
