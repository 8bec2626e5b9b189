"""Talks to `smd-oracle`, which answers with Kubernetes' own code.

Build it first: `go build -o smd-oracle .` in this folder. Every request and answer is one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

PROGRAM = Path(__file__).parent / "smd-oracle"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_REF = "#/components/schemas/" + _META


def _text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


_TIME = {"allOf": [{"$ref": f"{_REF}Time"}]}
_TEXTS = {"type": "object", "additionalProperties": _text(default="")}
_DEFINITIONS: dict[str, Any] = {
    f"{_META}Time": _text(format="date-time"),
    f"{_META}FieldsV1": {"type": "object"},
    f"{_META}ManagedFieldsEntry": {
        "type": "object",
        "properties": {
            **{name: _text() for name in ("apiVersion", "fieldsType", "manager", "operation", "subresource")},
            "fieldsV1": {"allOf": [{"$ref": f"{_REF}FieldsV1"}]},
            "time": _TIME,
        },
    },
    f"{_META}OwnerReference": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            **{name: _text(default="") for name in ("apiVersion", "kind", "name", "uid")},
            **{name: {"type": "boolean"} for name in ("blockOwnerDeletion", "controller")},
        },
    },
    f"{_META}ObjectMeta": {
        "type": "object",
        "properties": {
            **{name: _text() for name in ("generateName", "name", "namespace", "resourceVersion", "selfLink", "uid")},
            **{name: {"type": "integer"} for name in ("deletionGracePeriodSeconds", "generation")},
            **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
            **dict.fromkeys(("annotations", "labels"), _TEXTS),
            "finalizers": {"type": "array", "items": _text(), "x-kubernetes-list-type": "set"},
            "managedFields": {
                "type": "array",
                "x-kubernetes-list-type": "atomic",
                "items": {"allOf": [{"$ref": f"{_REF}ManagedFieldsEntry"}]},
            },
            "ownerReferences": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["uid"],
                "items": {"allOf": [{"$ref": f"{_REF}OwnerReference"}]},
            },
        },
    },
}


class Oracle:
    """A running `smd-oracle`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def teach(self, group: str, kind: str, schemas: dict[str, dict[str, Any]]) -> None:
        """Make it know a custom resource by its schema in each version."""
        definitions = dict(_DEFINITIONS)
        for version, schema in schemas.items():
            definitions[f"{group}.{version}.{kind}"] = {
                **schema,
                "properties": {
                    **schema.get("properties", {}),
                    "apiVersion": _text(),
                    "kind": _text(),
                    "metadata": {"$ref": f"{_REF}ObjectMeta"},
                },
                "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}],
            }
        answer = self.ask(definitions=definitions)
        assert "error" not in answer, answer

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
