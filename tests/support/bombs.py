"""Requests that are small to send and large to serve, or that are not quite requests."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from support.bad_bodies import APPLY, BODY_LIMIT, JSON_PATCH, MERGE, OBJECTS, PROTOBUF, STRATEGIC

JSON = "application/json"
YAML = "application/yaml"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
THINGS = "/apis/bad.example.com/v1/namespaces/default/things"
DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEEP = 100_000
LESS_DEEP = 9_000  # below what readers refuse


class Bomb(NamedTuple):
    """One request."""

    method: str
    target: str
    body: bytes
    kind: str


def config_map(body: bytes | dict[str, Any], kind: str = JSON, query: str = "") -> Bomb:
    """To be created."""
    return Bomb("POST", CONFIG_MAPS + query, body if isinstance(body, bytes) else json.dumps(body).encode(), kind)


def thing(spec: bytes | dict[str, Any]) -> Bomb:
    """A custom resource to be created, with its spec in JSON."""
    text = spec if isinstance(spec, bytes) else json.dumps(spec).encode()
    head = b'{"apiVersion":"bad.example.com/v1","kind":"Thing","metadata":{"name":"bomb"},"spec":'
    return Bomb("POST", THINGS, head + text + b"}", JSON)


def thing_in_yaml(count: bytes) -> Bomb:
    """A custom resource to be created, with a number as YAML has it."""
    head = b"apiVersion: bad.example.com/v1\nkind: Thing\nmetadata: {name: bomb}\nspec: {count: "
    return Bomb("POST", THINGS, head + count + b"}", YAML)


def patch(target: str, body: bytes | list[Any], kind: str) -> Bomb:
    """A change of an object that is there."""
    return Bomb("PATCH", target, body if isinstance(body, bytes) else json.dumps(body).encode(), kind)


def nested(depth: int, field: str = "a") -> bytes:
    """An object in an object in an object."""
    return b'{"%s":' % field.encode() * depth + b"1" + b"}" * depth


def yaml_bomb(levels: int = 12, width: int = 10) -> bytes:
    """Aliases of aliases: small to send, huge to expand."""
    lines = ["apiVersion: v1", "kind: ConfigMap", "metadata: {name: bomb}", 'a0: &a0 ["lol"]']
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines).encode()


def copy_bomb(times: int = 40) -> list[dict[str, Any]]:
    """Copies of a list into itself, each doubling it."""
    first = {"op": "add", "path": "/spec/free", "value": {"l": ["x" * 100] * 10}}
    return [first, *({"op": "copy", "from": "/spec/free/l", "path": "/spec/free/l/-"} for _ in range(times))]


def quantity(text: str) -> Bomb:
    """A pod with a strange limit."""
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": text}}}
    body = {"metadata": {"name": "bomb"}, "spec": {"containers": [container]}}
    return Bomb("POST", "/api/v1/namespaces/default/pods", json.dumps(body).encode(), JSON)


_NAMED = {"metadata": {"name": "bomb"}}
_APPLIED = b'{"apiVersion":"bad.example.com/v1","kind":"Thing","spec":{"free":%s}}'

BOMBS: dict[str, Bomb] = {
    "billion laughs": config_map(yaml_bomb(), YAML),
    "billion laughs, applied": patch(f"{CONFIG_MAPS}/bomb?fieldManager=m", yaml_bomb(), APPLY),
    "billion laughs in merge keys": config_map(yaml_bomb().replace(b"[", b"{<<: [").replace(b"]", b"]}"), YAML),
    "an alias of itself": config_map(b"a: &a [*a]", YAML),
    "deep lists": config_map(b"[" * DEEP),
    "deep objects": config_map(nested(DEEP)),
    "deep lists in YAML": config_map(b"[" * DEEP, YAML),
    "deep indentation": config_map(b"\n".join(b" " * n + b"a:" for n in range(2000)), YAML),
    "a deep merge patch": patch(f"{THINGS}/target", b'{"spec":{"free":%s}}' % nested(LESS_DEEP), MERGE),
    "a deep strategic patch": patch(OBJECTS[1], b'{"spec":%s}' % nested(LESS_DEEP, "template"), STRATEGIC),
    "a deep applied object": patch(f"{THINGS}/target?fieldManager=m", _APPLIED % nested(LESS_DEEP), APPLY),
    "a deep free field": thing(b'{"free":%s}' % nested(LESS_DEEP)),
    "deep messages in protobuf": Bomb("POST", DEFINITIONS_PATH, b"k8s\x00" + b"\x12\x7f" * 60_000, PROTOBUF),
    "a huge integer": thing(b'{"count":%s}' % (b"9" * DEEP)),
    "a huge integer in YAML": thing_in_yaml(b"9" * DEEP),
    "a huge exponent": thing(b'{"count":1e999999}'),
    "sexagesimal YAML": thing_in_yaml(b"59:" * 30_000 + b"59"),
    "a quantity without end": quantity("9" * DEEP + "e999999"),
    "invalid UTF-8": config_map(b'{"metadata":{"name":"bomb"},"data":{"k":"\xff\xfe"}}'),
    "invalid UTF-8 in YAML": config_map(b"metadata: {name: bomb}\ndata: {k: \xff\xfe}", YAML),
    "a lone surrogate": config_map(b'{"metadata":{"name":"bomb"},"data":{"k":"\\ud800"}}'),
    "UTF-16": config_map('{"metadata":{"name":"bomb"}}'.encode("utf-16")),
    "UTF-16 in YAML": config_map("metadata: {name: bomb}".encode("utf-16"), YAML),
    "a body of blanks": config_map(b" " * BODY_LIMIT),
    "many keys": config_map({**_NAMED, "data": {str(n): "" for n in range(150_000)}}),
    "the same key many times": config_map(
        b'{"metadata":{"name":"bomb"},' + b",".join([b'"data":{}'] * 100_000) + b"}", query="?fieldValidation=Warn"
    ),
    "many unknown fields": config_map(
        {**_NAMED, **{f"f{n}": 1 for n in range(50_000)}}, query="?fieldValidation=Strict"
    ),
    "many unknown fields, warned of": config_map(
        {**_NAMED, **{f"f{n}": 1 for n in range(50_000)}}, query="?fieldValidation=Warn"
    ),
    "many labels": config_map({"metadata": {"name": "bomb", "labels": {f"bad key {n}": "" for n in range(20_000)}}}),
    "copies that double": patch(f"{THINGS}/target", copy_bomb(), JSON_PATCH),
    "many operations": patch(
        f"{THINGS}/target", [{"op": "test", "path": "/kind", "value": "Thing"}] * 20_000, JSON_PATCH
    ),
    "a set of many": thing({"tags": ["a"] * 100_000}),
    "a pattern's worst case": thing({"name": "a" * 99 + "!"}),
    "many errors in a list": thing({"items": [{"nam": n} for n in range(30_000)]}),
}


def schema_bomb(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


DEFINITIONS: dict[str, Any] = {
    "a deep schema": schema_bomb(300),
    "a pattern that is none": {"type": "object", "properties": {"a": {"type": "string", "pattern": "(" * 1000}}},
    "a pattern with large counts": {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "((a{1,500}){1,500}){1,500}"}},
    },
    "a rule that is no CEL": {"type": "object", "x-kubernetes-validations": [{"rule": "((((" * 1000}]},
    "a rule of great depth": {"type": "object", "x-kubernetes-validations": [{"rule": "(" * 300 + "true" + ")" * 300}]},
    "a rule that takes long": {
        "type": "object",
        "properties": {"l": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [
            {"rule": "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d != ''))))"}
        ],
    },
    "a default that does not fit": {"type": "object", "properties": {"a": {"type": "integer", "default": {"b": [1]}}}},
    "references": {"type": "object", "properties": {"a": {"$ref": "#/a"}}},
    "nonsense": {"type": 5, "properties": []},
}


def _post(head: str, body: bytes = b"") -> bytes:
    return f"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode() + body


_CHUNKED = "Transfer-Encoding: chunked"
_CHUNK = b"40000\r\n" + b" " * 0x40000 + b"\r\n"

RAW: dict[str, bytes] = {
    "no HTTP at all": b"\x16\x03\x01\x00\x00 hello\r\n\r\n",
    "a version from the future": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "HTTP/2 without asking": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a header without end": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 1_200_000,
    "a line without end": b"GET /" + b"a" * 1_200_000,
    "a NUL in a header": b"GET / HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
    "a negative length": _post("Content-Length: -5"),
    "two lengths": _post("Content-Length: 2\r\nContent-Length: 4", b"{}{}"),
    "a length and chunks": _post(f"Content-Length: 4\r\n{_CHUNKED}", b"0\r\n\r\n"),
    "chunks that are none": _post(_CHUNKED, b"zz\r\n"),
    "more than the body limit": _post("Content-Length: 99999999999", b"{}"),
    "chunks beyond the limit": _post(_CHUNKED, _CHUNK * 14 + b"0\r\n\r\n"),
    "a bad escape": b"GET /api/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes that are no UTF-8": b"GET /api/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    "an upgrade": b"GET /api HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
    "a compressed body": _post("Content-Encoding: gzip\r\nContent-Length: 2", b"{}"),
}
