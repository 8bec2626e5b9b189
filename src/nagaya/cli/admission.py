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

from nagaya.api.admission import review
from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.review import convert
from nagaya.api.definition import Definition
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import bind
from nagaya.apiserver.web.connection import Patience
from nagaya.apiserver.web.limits import MIB, Limits
from nagaya.apiserver.web.listener import Listener
from nagaya.apiserver.web.request import Request, Response, text
from nagaya.cli.old_versions import OldVersions
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, Conflict, Forbidden, NotFound
from nagaya.kube.patches import Apply
from nagaya.kube.transport import NoAnswer
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec, split_hosts, to_pem
from nagaya.pki.usages import Usage
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
_REVIEW_SECONDS: Final = 10.0  # for a review to arrive: the API waits no longer for its answer
_LIMITS: Final = Limits(body=8 * MIB)  # the old object, the new one, and what is around them
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
        self._listener: Listener | None = None
        self._bundle = ""

    async def start(self, host: str, port: int) -> str:
        """Serve, then register. Returns the address that the API calls. Raises OSError if it cannot be listened on."""
        authority = CertificateAuthority.create("nagaya-admission-authority", self._world.clock)
        tls, patience = self._tls(authority, host), Patience(body=_REVIEW_SECONDS)
        self._listener = Listener(self._serve, bind(host, port), tls, patience, _LIMITS)
        await self._listener.start()
        shown = f"[{host}]" if ":" in host else host
        url = f"https://{shown}:{self._listener.port}"
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
            if self._listener is not None:
                await self._listener.stop()

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

    async def _serve(self, request: Request) -> Response:
        """Answer a review. API servers do not authenticate themselves to webhooks, so each address is a user."""
        answers: Mapping[str, tuple[str, Answer]] = {
            "/default": ("AdmissionReview", _defaulted),
            "/validate": ("AdmissionReview", self._validated),
            "/convert": ("ConversionReview", _converted),
        }
        if request.method != "POST" or request.path not in answers or request.source is None:
            return text("there are POST /default, /validate and /convert", 404)
        kind, answer = answers[request.path]
        request.source.identify(User(request.remote))
        try:
            asked = json.loads(await request.source.read())
        except (ValueError, RecursionError) as error:
            return text(f"the body is not JSON: {error}", 400)
        if not isinstance(asked, dict) or not isinstance(asked.get("request"), dict):
            return text(f"the body is no {kind} with a request", 400)
        return Response(body=json.dumps(await answer(asked)).encode())

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
