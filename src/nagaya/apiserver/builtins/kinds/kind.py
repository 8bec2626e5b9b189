"""How a built-in kind behaves, at its main endpoint and at those of its subresources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind's strategies. Subresources that are not listed and update the object itself behave like `status`."""

    main: Strategy
    subresources: Mapping[str, Strategy] = field(default_factory=dict)


class StatusStrategy(Strategy):
    """Writes to `/status`: they change the status and nothing else but what the kind lets through in metadata."""

    reset_fields: tuple[str, ...] = ("spec",)

    def __init__(self, main: Strategy) -> None:
        self._main = main
        self.allow_unconditional_update = main.allow_unconditional_update

    def default(self, obj: JsonObject) -> None:
        """The same as for the whole object."""
        self._main.default(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep the spec, and the labels."""
        if "spec" in old:
            new["spec"] = old["spec"]
        else:
            new.pop("spec", None)
        metadata, before = new["metadata"], old["metadata"]
        if "labels" in before:
            metadata["labels"] = before["labels"]
        else:
            metadata.pop("labels", None)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """Nothing is checked in a status by default."""
        return []
