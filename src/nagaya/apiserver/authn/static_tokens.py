"""Tokens that are known from the start: given by whoever builds the server, or listed in a file.

Tokens are kept and looked up by their SHA-256 digest, so that how long a lookup takes says nothing about how much of a
guess was right, and a dump of memory or a traceback does not show them.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.authn.facts import Audiences, Identity, RequestFacts, common
from nagaya.apiserver.authn.user import User

_COLUMNS: Final = 3


def digest(token: str) -> bytes:
    """What a token is looked up by."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


class StaticTokens:
    """A fixed set of tokens, valid for the API server's own audiences."""

    def __init__(self, users: Mapping[str, User], api_audiences: Audiences = ()) -> None:
        self._users = {digest(token): user for token, user in users.items() if token}
        self._api_audiences = api_audiences

    def authenticate_token(self, token: str, facts: RequestFacts) -> Identity | None:
        """The user whose token it is."""
        audiences = common(facts.audiences, self._api_audiences)
        if facts.audiences and not audiences:
            return None
        user = self._users.get(digest(token))
        return None if user is None else Identity(user, audiences)


def read_file(text: str, name: str) -> dict[str, User]:
    """The users of a token file, by token. Lines read `token,user,uid,"group1,group2"`; the groups may be missing.

    A line without a token is skipped, and of two lines with the same token the later counts. Raises ValueError for a
    line with fewer than three columns. `name` is the file's, for the message.
    """
    users: dict[str, User] = {}
    for record in csv.reader(io.StringIO(text)):
        if not record:
            continue
        if len(record) < _COLUMNS:
            raise ValueError(
                f"token file '{name}' must have at least 3 columns (token, user name, user uid), found {len(record)}"
            )
        token, user, uid, *groups = record
        if token:
            users[token] = User(user, uid, tuple(groups[0].split(",")) if groups else ())
    return users
