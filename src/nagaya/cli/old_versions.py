"""v1alpha1 of CAPMOX's kinds on a Kubernetes elsewhere: served while somebody converts, and safe while nobody does.

The embedded API server converts by itself (`Config.versions`). Any other asks a webhook, whose address is in the CRDs.
What is best when the webhook goes follows from what an API server does then:

- If the CRD still names it, every request in v1alpha1 fails, and so does server-side apply in v1alpha2 to every object
  that was ever written in v1alpha1, because field managers are compared in their own version.
- If the CRD no longer names v1alpha1, that server-side apply fails for good.
- If the CRD names v1alpha1, but as not served and with the strategy None, a request in v1alpha1 is answered with 404
  and everything in v1alpha2 works. But an object that is still stored in v1alpha1 would be misread.

So at the start everything is stored anew in v1alpha2, and an orderly stop leaves the third; only if something could not
be stored anew, the webhook stays named. A crash leaves the first, with which v1alpha2 can be read and written but for
that server-side apply, until the next start puts it right, by converting or by what the stop would have done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from nagaya.api.conversion.proxmox.objects import KINDS, OLD_API_VERSION
from nagaya.api.conversion.proxmox.serving import with_old_version, without_conversion
from nagaya.api.crd import render
from nagaya.api.definition import Definition
from nagaya.api.kind import Kind
from nagaya.api.proxmox.group import GROUP, OLD_VERSION, VERSION
from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, Conflict, NotFound, ServerError
from nagaya.kube.patches import Apply, Merge

log = logging.getLogger(__name__)

CRDS: Final = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
_INJECTED: Final = "cert-manager.io/inject-ca-from"
"""With it cert-manager writes the authority of CAPMOX's webhook into the CRD, over ours."""
_SETTLING: Final = 2.0  # seconds until an API server has surely taken notice of a changed CRD
_REMEDY: Final = "Nobody can read them before Nagaya is started with --admission."
_PROBE: Final = "nagaya-conversion-probe"
_PROBE_TIMEOUT: Final = 45.0  # seconds; an API server gives up on a webhook that does not answer after 30


class Unconverted(Exception):
    """Objects that would be misread if the CRD were what it should be."""


def is_converted(kind: Kind[Any]) -> bool:
    """Whether a kind has v1alpha1."""
    return kind.group == GROUP and kind.kind in KINDS


async def bring_up_to_date(client: Client, definition: Definition, *, force: bool, converting: bool) -> bool:
    """Write the CRD of a kind that has v1alpha1 already: it is kept as it is if it is converted, else not served.

    False if there is nothing of the kind to care for. Without `force` it raises Conflict if the CRD is somebody else's;
    with it Unconverted if objects are stored in v1alpha1 and nobody converts them.
    """
    found = await _found(client, definition) if is_converted(definition.kind) else None
    if found is None:
        return False
    if converting:
        return True  # whoever converts writes it as soon as it can be asked
    if _version(found, OLD_VERSION) is None:
        return False
    if not force and not await _is_ours(client, definition):
        await client.patch(CRDS, "", found.metadata.name, Apply(_kept(definition, found), force=False))
        return True
    wanted = _kept(definition, found)
    if found.at("spec", "conversion", "strategy") != "Webhook":
        if _stores_old(found):
            raise Unconverted(f"{found.metadata.name} has objects in {OLD_VERSION}. {_REMEDY}")
        wanted = without_conversion(definition)
    elif not _stores_old(found) and await _is_dead(client, definition):
        log.warning("Nobody converts %s from %s any more: it is not served now.", definition.kind.kind, OLD_VERSION)
        wanted = without_conversion(definition)
    await _change(client, definition, wanted, lambda _: True)
    return True


def _kept(definition: Definition, found: Untyped) -> dict[str, Any]:
    """The CRD of a kind with v1alpha1, and whoever converts it, as they are."""
    result = render(definition)
    result["spec"]["versions"].append(_version(found, OLD_VERSION))
    result["spec"]["conversion"] = found.at("spec", "conversion")
    return result


async def _is_ours(client: Client, definition: Definition) -> bool:
    """Whether nobody but us has said what versions a CRD has."""
    answer = await client.raw("GET", CRDS.path(name=str(definition.kind)))  # others leave out who manages fields
    entries = msgspec.json.decode(answer.body)["metadata"].get("managedFields") or ()
    owners = [each.get("manager") for each in entries if "f:versions" in (each.get("fieldsV1") or {}).get("f:spec", {})]
    return all(each == client.field_manager for each in owners)


class OldVersions:
    """Has the API serve v1alpha1 of some kinds."""

    def __init__(self, client: Client, definitions: Iterable[Definition]) -> None:
        self._client = client
        self._definitions = [each for each in definitions if is_converted(each.kind)]

    async def serve(self, client_config: Mapping[str, str]) -> None:
        """Have the API ask there. What was stored in v1alpha1 is stored in v1alpha2 then."""
        outdated = []
        for definition in self._definitions:
            wanted = with_old_version(definition, client_config)
            written = await _change(self._client, definition, wanted, lambda _: True)
            if written is None:
                log.warning("%s has no definition: %s is not served.", definition.kind.kind, OLD_VERSION)
            elif _stores_old(written):
                outdated.append(definition)
        if outdated:
            await asyncio.sleep(_SETTLING)
        for definition in outdated:
            await self._store_anew(definition)

    async def withdraw(self, bundle: str) -> None:
        """Have the API ask no longer, unless somebody else does the answering. Raises ApiError or NoAnswer."""
        for definition in self._definitions:
            wanted = without_conversion(definition)
            await _change(self._client, definition, wanted, lambda found: _is_asked(found, bundle) and _is_free(found))

    async def _store_anew(self, definition: Definition) -> None:
        """Have every object written as it is, which stores it in v1alpha2, and strike v1alpha1 off the CRD's list."""
        kind = Kind(GROUP, VERSION, definition.kind.kind, definition.kind.plural, Untyped)
        try:
            objects = (await self._client.list(kind)).items
            for each in objects:
                try:
                    await self._client.patch(kind, each.metadata.namespace, each.metadata.name, Merge({}))
                except NotFound:
                    continue
            stored = Merge({"status": {"storedVersions": [VERSION]}})
            await self._client.patch(CRDS, "", str(definition.kind), stored, subresource="status")
        except ApiError as error:
            remedy = "It is tried again at the next start."
            log.error("%s objects stay stored in %s: %s. %s", definition.kind.kind, OLD_VERSION, error, remedy)
        else:
            log.info("%d %s objects are stored in %s now", len(objects), definition.kind.kind, VERSION)


async def _change(
    client: Client, definition: Definition, wanted: Mapping[str, Any], may: Callable[[Untyped], bool]
) -> Untyped | None:
    """Bring a CRD into the state that is wanted, in one step: versions and who converts them belong together. What
    another webhook has left in it goes, which server-side apply could not do. None if there is no CRD, or it may not.
    """
    conversion = {"webhook": None, **wanted["spec"]["conversion"]}
    metadata: dict[str, Any] = {"labels": wanted["metadata"]["labels"], "annotations": {_INJECTED: None}}
    if (webhook := conversion["webhook"]) is not None:
        asked = {"url": None, "service": None, **webhook["clientConfig"]}
        conversion["webhook"] = {**webhook, "clientConfig": asked}
        if asked["service"] is not None:
            del metadata["annotations"]
    spec = {"names": wanted["spec"]["names"], "versions": wanted["spec"]["versions"], "conversion": conversion}
    while True:
        found = await _found(client, definition)
        if found is None or not may(found):
            return None
        change = Merge({"metadata": metadata, "spec": spec}, found.metadata.resource_version)
        try:
            return await client.patch(CRDS, "", found.metadata.name, change)
        except Conflict:
            continue  # somebody wrote to it meanwhile, so it is looked at again


async def _found(client: Client, definition: Definition) -> Untyped | None:
    try:
        return await client.get(CRDS, "", str(definition.kind))
    except NotFound:
        return None


def _version(found: Untyped, name: str) -> Mapping[str, Any] | None:
    return next((each for each in found.at("spec", "versions") or () if each.get("name") == name), None)


def _is_asked(found: Untyped, bundle: str) -> bool:
    """Whether it is whoever has this authority that is asked for conversion."""
    return bool(found.at("spec", "conversion", "webhook", "clientConfig", "caBundle") == bundle)


def _is_free(found: Untyped) -> bool:
    """Whether nothing has to be converted to be read."""
    if _stores_old(found):
        log.error("%s has objects in %s still. %s", found.metadata.name, OLD_VERSION, _REMEDY)
        return False
    return True


def _stores_old(found: Untyped) -> bool:
    return OLD_VERSION in (found.at("status", "storedVersions") or ())


async def _is_dead(client: Client, definition: Definition) -> bool:
    """Whether the API asks for conversion in vain: it is had to do so, without anything being written."""
    kind = Kind(GROUP, OLD_VERSION, definition.kind.kind, definition.kind.plural, Untyped)
    probe = {
        "apiVersion": OLD_API_VERSION,
        "kind": kind.kind,
        "metadata": {"name": _PROBE, "namespace": "default"},
        "spec": {},
    }
    try:
        path, query = kind.path("default"), {"dryRun": "All"}
        await client.raw("POST", path, query=query, content=probe, timeout=_PROBE_TIMEOUT)
    except ServerError as error:
        return "webhook" in error.message
    except ApiError:
        return False  # refused, but by somebody who had understood it, or who may not be asked
    return False
