"""What is wrong with where a webhook's configuration says it is: the same rules wherever webhooks are configured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.crd import urls
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.status import JsonObject

_FORM: Final = "; desired format: https://host[/path]"


def client_config_errors(config: JsonObject, path: Path) -> Iterator[FieldError]:
    """Findings about a `clientConfig`."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, path.child("url"))
    elif service is not None:
        yield from _service(service, path.child("service"))


def _url(text: str, path: Path) -> Iterator[FieldError]:
    try:
        url = urls.parse(text)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not url.host:
        yield invalid(path, url.host, f"host must be specified{_FORM}")
    if url.user is not None:
        yield invalid(path, url.user, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid(path, url.query, "query parameters are not permitted in the URL")


def _service(service: JsonObject, path: Path) -> Iterator[FieldError]:
    # The real server has name and namespace the wrong way round here.
    if not service.get("namespace"):
        yield required(path.child("name"))
    if not service.get("name"):
        yield required(path.child("namespace"))
    port = service.get("port")
    port = 443 if port is None else port
    if problems := names.port_number(port):
        yield invalid(path.child("port"), port, f"port is not valid: {', '.join(problems)}")
    yield from _service_path(service.get("path") or "", path.child("path"))


def _service_path(text: str, path: Path) -> Iterator[FieldError]:
    if text in ("", "/"):
        return
    if text == "//":
        yield invalid(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid(path, text, "must start with a '/'")
    for position, segment in enumerate(text[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid(path, text, f"segment[{position}] may not be empty")
            continue
        for problem in names.dns_subdomain(segment):
            yield invalid(path, text, f"segment[{position}]: {problem}")
