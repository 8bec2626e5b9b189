"""Failures as Kubernetes tells them: every one is a `Status` object with a code, a reason and a message.

Handlers raise `ApiError`; the HTTP layer writes its `status`. The constructors below are the only place where codes and
reasons meet, so a failure looks the same wherever it comes from. Clients branch on `reason` and `code`; people read
`message`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.gvk import GroupKind, GroupResource

JsonObject = dict[str, Any]


class ApiError(Exception):
    """A request that failed, with the Status that says so."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = None if details is None else {key: value for key, value in details.items() if value}
        self.headers = dict(headers or {})

    @property
    def status(self) -> JsonObject:
        """The body of the answer. Members that are empty are left out, as the real server does."""
        body: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        if self.message:
            body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def success(details: Mapping[str, Any] | None = None) -> JsonObject:
    """The Status that answers a request which has no object to return, such as a finished deletion."""
    body: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        body["details"] = {key: value for key, value in details.items() if value}
    return body


def _about(resource: GroupResource, name: str, **more: Any) -> JsonObject:
    return {"name": name, "group": resource.group, "kind": resource.resource, **more}


def not_found(resource: GroupResource, name: str) -> ApiError:
    """There is no such object."""
    return ApiError(404, "NotFound", f"{resource} {gostring.quote(name)} not found", _about(resource, name))


def no_such_resource() -> ApiError:
    """The URL names a resource that this server does not have."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: GroupResource, name: str) -> ApiError:
    """An object of that name is there already."""
    return ApiError(409, "AlreadyExists", f"{resource} {gostring.quote(name)} already exists", _about(resource, name))


def generate_name_conflict(resource: GroupResource, name: str, retry_after: int) -> ApiError:
    """Every generated name that was tried is taken."""
    message = (
        f"{resource} {gostring.quote(name)} already exists, "
        "the server was not able to generate a unique name for the object"
    )
    details = _about(resource, name, retryAfterSeconds=retry_after)
    return ApiError(409, "AlreadyExists", message, details, _retry(retry_after))


def conflict(resource: GroupResource, name: str, why: str) -> ApiError:
    """The object is not in the state that the request counted on."""
    message = f"Operation cannot be fulfilled on {resource} {gostring.quote(name)}: {why}"
    return ApiError(409, "Conflict", message, _about(resource, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def apply_conflict(causes: Sequence[JsonObject], message: str) -> ApiError:
    """Server-side apply would take fields from other managers."""
    return ApiError(409, "Conflict", message, {"causes": list(causes)})


def unauthorized(message: str = "Unauthorized") -> ApiError:
    """Nobody knows who is asking."""
    return ApiError(401, "Unauthorized", message)


def forbidden(resource: GroupResource, name: str, why: str, causes: Sequence[JsonObject] = ()) -> ApiError:
    """The one who asks may not do this."""
    if not resource.group and not resource.resource:
        message = f"forbidden: {why}"
    elif not name:
        message = f"{resource} is forbidden: {why}"
    else:
        message = f"{resource} {gostring.quote(name)} is forbidden: {why}"
    return ApiError(403, "Forbidden", message, _about(resource, name, causes=list(causes)))


_SHOWN: Final = 512 * 1024  # Errors may quote what they are about; so many characters of them are enough.


def invalid(kind: GroupKind, name: str, errors: Iterable[FieldError]) -> ApiError:
    """The object breaks rules; one cause for each."""
    texts: list[str] = []
    causes: list[JsonObject] = []
    size = 0
    for error in errors:
        if size > _SHOWN:
            texts.append("further errors are not shown")
            break
        body = error.body
        size += len(body) + len(error.field)
        texts.append(f"{error.field}: {body}")
        causes.append({"reason": str(error.cause), "message": body, "field": error.field})
    message = f"{kind} {gostring.quote(name)} is invalid"
    if texts:
        message += f": {aggregate(texts)}"
    return ApiError(422, "Invalid", message, {"name": name, "group": kind.group, "kind": kind.kind, "causes": causes})


def aggregate(messages: Sequence[str]) -> str:
    """Several messages as one: each once, in brackets when there is more than one."""
    unique = list(dict.fromkeys(messages))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def bad_request(message: str) -> ApiError:
    """The request itself is wrong."""
    return ApiError(400, "BadRequest", message)


def method_not_allowed() -> ApiError:
    """The resource has no such verb."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})


def method_not_supported(resource: GroupResource, action: str) -> ApiError:
    """The resource refuses this action for a reason of its own."""
    message = f"{action} is not supported on resources of kind {gostring.quote(str(resource))}"
    return ApiError(405, "MethodNotAllowed", message, {"group": resource.group, "kind": resource.resource})


def expired(message: str, continue_token: str = "") -> ApiError:
    """The history that the request needs is gone."""
    error = ApiError(410, "Expired", message)
    if continue_token:
        return _WithContinue(error, continue_token)
    return error


class _WithContinue(ApiError):
    """An Expired error that lets the client go on with the rest of its list, at another resourceVersion."""

    def __init__(self, error: ApiError, continue_token: str) -> None:
        super().__init__(error.code, error.reason, error.message, error.details, error.headers)
        self._continue = continue_token

    @property
    def status(self) -> JsonObject:
        return {**super().status, "metadata": {"continue": self._continue}}


def too_large_resource_version(requested: int, current: int, retry_after: int = 1) -> ApiError:
    """The client has seen a later state than this server has."""
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiError(504, "Timeout", message, {"causes": causes, "retryAfterSeconds": retry_after}, _retry(retry_after))


def timeout(message: str, retry_after: int = 0) -> ApiError:
    """The request took too long."""
    details = {"retryAfterSeconds": retry_after}
    return ApiError(504, "Timeout", f"Timeout: {message}", details, _retry(retry_after))


def too_many_requests(message: str, retry_after: int, causes: Sequence[JsonObject] = ()) -> ApiError:
    """The client has to come back later."""
    details = {"causes": list(causes), "retryAfterSeconds": retry_after}
    return ApiError(429, "TooManyRequests", message, details, _retry(retry_after))


def too_large(message: str) -> ApiError:
    """The body is bigger than the server takes."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


OBJECT_LIMIT: Final = 3 * 512 * 1024


def object_too_large(size: int) -> ApiError:
    """The object would be bigger in storage than etcd's default takes, of which the text reminds."""
    found = f"the object takes {size} bytes in storage" if size else "its defaults alone take more bytes"
    return too_large(f"etcdserver: request is too large: {found}, the limit is {OBJECT_LIMIT}. Split it or shorten it")


def not_acceptable(message: str) -> ApiError:
    """None of the forms that the client accepts can be served."""
    return ApiError(406, "NotAcceptable", message, {})


def unsupported_media_type(message: str) -> ApiError:
    """The body is in a form that cannot be read."""
    return ApiError(415, "UnsupportedMediaType", message)


def internal(message: str) -> ApiError:
    """The server failed; the log has more."""
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


def service_unavailable(message: str) -> ApiError:
    """The server cannot do this at the moment."""
    return ApiError(503, "ServiceUnavailable", message)


def _retry(seconds: int) -> dict[str, str]:
    return {"Retry-After": str(seconds)} if seconds > 0 else {}
