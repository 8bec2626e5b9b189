"""The documents a server publishes about itself besides its objects: discovery, keys, and the list of its paths."""

from __future__ import annotations

from nagaya.apiserver.authn import discovery as openid
from nagaya.apiserver.authn.jwt import VerificationKeys
from nagaya.apiserver.openapi import documents as openapi
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.web import negotiation, present, routes
from nagaya.apiserver.web.discovery import Discovery
from nagaya.apiserver.web.handler import Endpoint, Exchange
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.request import Response


def endpoints(backend: Backend, issuer: str, keys: VerificationKeys, address: str) -> dict[str, Endpoint]:
    """The paths of the documents."""
    discovery = Discovery(backend.catalog, address)
    configuration = openid.configuration(issuer, f"{issuer}{openid.KEY_SET_PATH}", keys)
    made: dict[str, Endpoint] = {}
    made |= {
        "/": index(made, discovery),
        **discovery.endpoints(),
        **openapi.Documents(backend).endpoints(),
        openid.CONFIGURATION_PATH: _static(configuration, openid.CONFIGURATION_TYPE),
        openid.KEY_SET_PATH: _static(keys.as_key_set(), openid.KEY_SET_TYPE),
    }
    return made


def index(made: dict[str, Endpoint], discovery: Discovery) -> Endpoint:
    """The list of all paths, at `/`."""

    def answer(exchange: Exchange) -> Response:
        paths = {path for path in made if not path.endswith("*")} | set(discovery.paths())
        wanted = negotiation.output(exchange.request, transforms=False)
        return present.respond({"paths": sorted(paths)}, Wanted(wanted.media_type, pretty=True))

    return answer


def _static(body: object, content_type: str) -> Endpoint:
    encoded = present.encode(body, Wanted())

    def answer(exchange: Exchange) -> Response:
        routes.only_read(exchange.request, content_type)
        return Response(200, encoded, content_type, [("Cache-Control", openid.CACHE_CONTROL)])

    return answer
