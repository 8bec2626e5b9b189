"""Acting as someone else: the `Impersonate-*` headers, and who may use them.

There are five ways to be allowed to. Four of them are constrained: each is for one sort of user, and besides the right
to be that user it needs the right to do this very request on her behalf (`impersonate-on:...`). The last is the old
verb `impersonate`, which allows everything the other user may do. The ways are tried in order, the one that last worked
for the same requester first, and if none works the first refusal is the answer.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import unquote

from nagaya.apiserver.authn import impersonation_ways
from nagaya.apiserver.authn.impersonation_ways import Impersonated
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Authorizer
from nagaya.apiserver.meta import gostring, status
from nagaya.apiserver.meta.status import ApiError

_EXTRA_PREFIX: Final = "impersonate-extra-"
_REMEMBERED: Final = 10_000
_is_malformed = re.compile("%(?![0-9a-fA-F]{2})").search


def requested(headers: Iterable[tuple[str, str]]) -> User | None:
    """Whom a request's headers ask to act as; None if they do not. Header names are lower case. Raises 400."""
    name = uid = ""
    groups: list[str] = []
    found: dict[str, list[str]] = {}
    for key, value in headers:
        if not key.startswith("impersonate-"):
            continue
        if key == "impersonate-user":
            name = name or value
        elif key == "impersonate-uid":
            uid = uid or value
        elif key == "impersonate-group":
            groups.append(value)
        elif key.startswith(_EXTRA_PREFIX):
            title = _unescaped(key.removeprefix(_EXTRA_PREFIX))
            found.setdefault(title, []).append(value)
    extra = {title: tuple(values) for title, values in found.items()}
    if name:
        return User(name, uid, tuple(groups), extra)
    if uid or groups or extra:
        shown = _go_syntax(uid, groups, extra)
        raise status.bad_request(f"requested {shown} without impersonating a user name")
    return None


def _unescaped(key: str) -> str:
    return key if _is_malformed(key) else unquote(key)


def _go_syntax(uid: str, groups: Sequence[str], extra: dict[str, tuple[str, ...]]) -> str:
    """The wanted user as Go prints the structure it keeps it in."""

    def strings(values: Sequence[str]) -> str:
        return f"[]string{{{', '.join(map(gostring.quote, values))}}}" if values else "[]string(nil)"

    entries = ", ".join(f"{gostring.quote(key)}:{strings(values)}" for key, values in sorted(extra.items()))
    shown = f"map[string][]string{{{entries}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{gostring.quote(uid)}, Groups:{strings(groups)}, Extra:{shown}}}'


class Impersonation:
    """Decides whether a requester may act as the user she asks for."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._ways = impersonation_ways.all_ways(authorizer)
        self._last_way: OrderedDict[str, int] = OrderedDict()

    def impersonate(self, wanted: User, attributes: Attributes) -> Impersonated:
        """The user to serve this request for. `attributes.user` is the requester. Raises 403."""
        requester = attributes.user.name
        positions = list(range(len(self._ways)))
        last = self._last_way.get(requester)
        if last is not None:
            positions.remove(last)
            positions.insert(0, last)
        refusal: ApiError | None = None
        for position in positions:
            try:
                found = self._ways[position].check(wanted, attributes)
            except ApiError as error:
                refusal = refusal or error
                continue
            if found is not None:
                self._remember(requester, position)
                return found
        assert refusal is not None, "the old way always has an opinion"
        raise refusal

    def _remember(self, requester: str, position: int) -> None:
        self._last_way[requester] = position
        self._last_way.move_to_end(requester)
        if len(self._last_way) > _REMEMBERED:
            self._last_way.popitem(last=False)
