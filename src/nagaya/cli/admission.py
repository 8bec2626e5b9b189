"""Defaults, checks and conversion for a Kubernetes elsewhere: an HTTPS server that it calls, and what says so to it.

The embedded API server does the same in its own process (`Config.rules`, `Config.versions`). The server's certificate
is made anew at every start and its authority is written into the configurations and CRDs, so there is nothing to
install or renew. The configurations are removed in an orderly stop and the CRDs left without a webhook, unless another
process has put itself there meanwhile: a webhook that nobody answers refuses every write.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from aiohttp import web

from nagaya.api.admission import review
from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.review import convert
from nagaya.api.definition import Definition
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.web.limits import MIB, Budget, Limits
from nagaya.cli.old_versions import OldVersions
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, Conflict, Forbidden, NotFound
from nagaya.kube.patches import Apply
from nagaya.kube.transport import NoAnswer
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec, split_hosts, to_pem
from nagaya.pki.usages import Usage
from nagaya.wire.small_server import SmallServer
from nagaya.world import World

log = logging.getLogger(__name__)

_GROUP: Final = "admissionregistration.k8s.io"
_MUTATING: Final = Kind(
    _GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", Untyped, namespaced=False
)
_VALIDATING: Final = Kind(
    _GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", Untyped, namespaced=False
)
_UNTYPED: Final[Mapping[str, Kind[Untyped]]] = {
    str(each.kind): Kind(
        each.kind.group, each.kind.version, each.kind.kind, each.kind.plural, Untyped, each.kind.namespaced
    )
    for part in PARTS.values()
    for each in part
}
"""All kinds of Nagaya as plain JSON, by `plural.group`: checks read what others wrote, whatever it is."""
_NAME: Final = "nagaya"
_LARGEST_REVIEW: Final = 8 * 2**20  # the old object, the new one, and what is around them
_REVIEW_SECONDS: Final = 10.0  # for a review to arrive: the API waits no longer for its answer
_LIMITS: Final = Limits(bytes=128 * MIB, user_bytes=32 * MIB)  # of reviews in memory: of all addresses, of one
_CALLS: Final = ((_MUTATING, "default"), (_VALIDATING, "validate"))
_TIMEOUT_SECONDS: Final = 10
STOP_TIMEOUT: Final = 5.0
"""Seconds for the API to forget the webhooks: whoever stops Nagaya wants it to stop."""

Answer = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


class AdmissionServer:
    """Serves the rules, and has the API call it for as long as it runs."""

    def __init__(
        self, client: Client, world: World, definitions: Iterable[Definition], *, stop_timeout: float = STOP_TIMEOUT
    ) -> None:
        definitions = tuple(definitions)
        self._stop_timeout = stop_timeout
        self._client = client
        self._world = world
        self._old_versions = OldVersions(client, definitions)
        self._kinds = [each.kind for each in definitions if str(each.kind) in ADMISSION]
        self._scaled = frozenset(str(each.kind) for each in definitions if each.scale is not None)
        self._server: SmallServer | None = None
        self._budget = Budget(_LIMITS)
        self._bundle = ""

    async def start(self, host: str, port: int) -> str:
        """Serve, then register. Returns the address that the API calls. Raises OSError if it cannot be listened on."""
        authority = CertificateAuthority.create("nagaya-admission-authority", self._world.clock)
        application = web.Application(client_max_size=_LARGEST_REVIEW)
        application.router.add_post("/default", self._handler(_defaulted, "AdmissionReview"))
        application.router.add_post("/validate", self._handler(self._validated, "AdmissionReview"))
        application.router.add_post("/convert", self._handler(_converted, "ConversionReview"))
        self._server = SmallServer(application)
        port = await self._server.start(host, port, self._tls(authority, host))
        shown = f"[{host}]" if ":" in host else host
        url = f"https://{shown}:{port}"
        self._bundle = base64.b64encode(authority.certificate_pem).decode()
        # First, because the checks of an object in another version begin with its conversion.
        try:
            await self._old_versions.serve({"url": f"{url}/convert", "caBundle": self._bundle})
        except Forbidden as error:
            log.warning("old versions are not served, because definitions may not be changed: %s", error)
        for kind, path in _CALLS:
            content = {"webhooks": [self._webhook(each, path, f"{url}/{path}") for each in self._kinds]}
            await self._client.patch(kind, "", _NAME, Apply(content, self._client.field_manager, force=True))
        log.info("the API calls %s for defaults and checks of %d kinds", url, len(self._kinds))
        return url

    async def _validated(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a check, for which other objects may have to be read."""
        parent = None
        if (scaled := review.scaled_object(asked)) is not None:
            resource, namespace, name = scaled
            with suppress(NotFound):
                parent = (await self._client.get(_UNTYPED[resource], namespace, name)).raw
        found: dict[str, list[Mapping[str, Any]]] = {}
        for resource in review.needs(asked):
            kind = _UNTYPED[resource]
            found[resource] = [each.raw for each in (await self._client.list(kind)).items]
        return review.validate(asked, lambda resource: found.get(resource, []), parent)

    async def stop(self) -> None:
        """Have the API call no longer, then serve no longer. Says what to do if the API cannot be told."""
        try:
            if self._bundle:
                await asyncio.gather(self._withdraw(), *(self._remove(kind) for kind, _ in _CALLS))
        finally:
            if self._server is not None:
                await self._server.stop()

    async def _withdraw(self) -> None:
        try:
            async with asyncio.timeout(self._stop_timeout):
                await self._old_versions.withdraw(self._bundle)
        except (ApiError, NoAnswer, TimeoutError) as error:
            why = str(error) or f"the API did not answer within {self._stop_timeout:g} s"
            remedy = "Start Nagaya again, with --admission or with --install-crds."
            log.error("the API goes on asking for conversion, in vain: %s. %s", why, remedy)

    async def _remove(self, kind: Kind[Untyped]) -> None:
        try:
            async with asyncio.timeout(self._stop_timeout):
                await self._remove_own(kind)
        except (ApiError, NoAnswer, TimeoutError) as error:
            why = str(error) or f"the API did not answer within {self._stop_timeout:g} s"
            remedy = f"Remove it: kubectl delete {kind.kind.lower()} {_NAME}"
            log.error("%s %s stays, and refuses writes from now on: %s. %s", kind.kind, _NAME, why, remedy)

    async def _remove_own(self, kind: Kind[Untyped]) -> None:
        try:
            found = await self._client.get(kind, "", _NAME)
            called = found.at("webhooks") or ()
            if any(each.get("clientConfig", {}).get("caBundle") == self._bundle for each in called):
                await self._client.delete(kind, "", _NAME, resource_version=found.metadata.resource_version)
        except (NotFound, Conflict):
            log.info("%s %s was taken over or removed by somebody else", kind.kind, _NAME)

    def _webhook(self, kind: Kind[Any], path: str, url: str) -> dict[str, Any]:
        scales = str(kind) in self._scaled
        deletions = path == "validate" and ADMISSION[str(kind)].keeps is not None
        rule = {
            "apiGroups": [kind.group],
            "apiVersions": [kind.version],
            "operations": ["CREATE", "UPDATE", *(["DELETE"] if deletions else [])],
            "resources": [kind.plural, *([f"{kind.plural}/scale"] if path == "validate" and scales else [])],
            "scope": "*",
        }
        return {
            "name": f"{path}.{kind.plural}.{kind.group}",
            "clientConfig": {"url": url, "caBundle": self._bundle},
            "rules": [rule],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "sideEffects": "None",
            "timeoutSeconds": _TIMEOUT_SECONDS,
            "admissionReviewVersions": ["v1"],
        }

    def _handler(self, answer: Answer, kind: str) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            address = request.remote or "unknown"
            size = min(request.content_length or _LARGEST_REVIEW, _LARGEST_REVIEW)
            if not self._budget.take(address, size):
                return web.Response(status=429, text="too many reviews of this client are in memory: send them later")
            try:
                asked = await _read(request)
                if not isinstance(asked, dict) or not isinstance(asked.get("request"), dict):
                    return web.Response(status=400, text=f"the body is no {kind} with a request")
                return web.json_response(await answer(asked))
            finally:
                self._budget.give(address, size)

        return handle

    def _tls(self, authority: CertificateAuthority, host: str) -> ssl.SSLContext:
        names, addresses = split_hosts([host])
        spec = CertificateSpec("nagaya-admission", (), (Usage.SERVER_AUTH,), names, addresses)
        certificate, key = authority.issue_pair(spec, self._world.clock)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        with tempfile.NamedTemporaryFile() as pair:  # the standard library takes certificates from files only
            pair.write(to_pem(certificate) + keys.to_pem(key))
            pair.flush()
            context.load_cert_chain(pair.name)
        return context


async def _defaulted(asked: Mapping[str, Any]) -> dict[str, Any]:
    return review.mutate(asked)


async def _converted(asked: Mapping[str, Any]) -> dict[str, Any]:
    return convert(asked)


async def _read(request: web.Request) -> Any:
    """The JSON of a request. Raises the answer to one that has none, or does not come."""
    try:
        async with asyncio.timeout(_REVIEW_SECONDS):
            return json.loads(await request.read())
    except TimeoutError:
        raise web.HTTPRequestTimeout(text=f"the body did not come within {_REVIEW_SECONDS:g} s") from None
    except ValueError as error:
        raise web.HTTPBadRequest(text=f"the body is not JSON: {error}") from None
