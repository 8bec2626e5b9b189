"""What the server says it is: the Kubernetes version whose API it serves."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.web import negotiation, present, routes
from nagaya.apiserver.web.handler import Endpoint, Exchange
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.request import Response

KUBERNETES_VERSION: Final = "v1.36.3"


def document(nagaya_version: str, kubernetes_version: str = KUBERNETES_VERSION) -> JsonObject:
    """The body of `/version`. Clients compare `gitVersion`; the build metadata says who really answers."""
    major, minor = kubernetes_version.removeprefix("v").split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{kubernetes_version}+nagaya.{nagaya_version}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "cpython",
        "platform": "linux/amd64",
    }


def endpoint(body: JsonObject) -> Endpoint:
    """Serves the document."""

    encoded = present.encode(body, Wanted(pretty=True))

    def answer(exchange: Exchange) -> Response:
        routes.only_read(exchange.request, negotiation.JSON)
        return Response(200, encoded)

    return answer
