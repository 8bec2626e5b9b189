"""Asks a real API server, in plain HTTP and JSON: tests of controllers must not see the API through Nagaya's client."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from typing import Any

from support.real import RealControlPlane

Manifest = dict[str, Any]
"""An object as the API has it."""

MERGE_PATCH = "application/merge-patch+json"
ATTEMPTS = 10
POLL = 0.25
"""Seconds between looks at something that is waited for."""


class Refused(Exception):
    """The API server said no."""

    def __init__(self, method: str, path: str, code: int, body: str) -> None:
        self.code = code
        super().__init__(f"{method} {path}: {code} {body[:2000]}")


class Overdue(AssertionError):
    """What was waited for did not come; the message has what was seen last."""


class Client:
    """One connection as the administrator."""

    def __init__(self, control_plane: RealControlPlane) -> None:
        host, _, port = control_plane.url.removeprefix("https://").partition(":")
        tls = control_plane.admin_ssl_context()
        self._connection = http.client.HTTPSConnection(host, int(port), timeout=60, context=tls)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def request(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Manifest:
        """One request; Refused if the answer is an error.

        "Too many requests" is what a server says that is still opening the storage of a new kind: it is asked again.
        """
        headers = {"Content-Type": content_type, "User-Agent": "nagaya-tests"}
        data = None if body is None else json.dumps(body)
        for attempt in range(1, ATTEMPTS + 1):
            self._connection.request(method, path, data, headers)
            response = self._connection.getresponse()
            text = response.read().decode()
            if response.status != http.client.TOO_MANY_REQUESTS or attempt == ATTEMPTS:
                break
            time.sleep(float(response.headers.get("Retry-After", "1")))
        if response.status >= http.client.MULTIPLE_CHOICES:
            raise Refused(method, path, response.status, text)
        answer: Manifest = json.loads(text)
        return answer

    def get(self, path: str) -> Manifest:
        """An object or a list."""
        return self.request("GET", path)

    def find(self, path: str) -> Manifest | None:
        """An object, if it exists."""
        try:
            return self.get(path)
        except Refused as refused:
            if refused.code == http.client.NOT_FOUND:
                return None
            raise

    def items(self, path: str) -> list[Manifest]:
        """The objects of a list."""
        found: list[Manifest] = self.get(path)["items"]
        return found

    def create(self, manifest: Manifest) -> Manifest:
        """Create an object where its kind, group and namespace say; kinds with an irregular plural are not known."""
        return self.request("POST", collection_path(manifest), manifest)

    def patch(self, path: str, change: object) -> Manifest:
        """Change an object by a merge patch."""
        return self.request("PATCH", path, change, MERGE_PATCH)

    def delete(self, path: str) -> Manifest:
        """Delete an object; whoever has a finalizer on it goes first."""
        return self.request("DELETE", path)

    def until(self, what: str, look: Callable[[], object], within: float = 120) -> None:
        """Wait until a look at the API finds something true."""
        deadline = time.monotonic() + within
        while not (seen := look()):
            if time.monotonic() > deadline:
                raise Overdue(f"{what}: not after {within:.0f} s; saw {seen!r}")
            time.sleep(POLL)


def collection_path(manifest: Manifest) -> str:
    """Where objects of this kind are, in the namespace of this one."""
    api_version = manifest["apiVersion"]
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    namespace = manifest["metadata"].get("namespace")
    plural = f"{manifest['kind'].lower()}s"
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def condition(manifest: Manifest | None, kind: str) -> str:
    """The status of a condition, or that there is none."""
    for found in (manifest or {}).get("status", {}).get("conditions", []):
        if found["type"] == kind:
            return str(found["status"])
    return "absent"
