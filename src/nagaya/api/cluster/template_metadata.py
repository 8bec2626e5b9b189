"""Labels and annotations for objects that are yet to be made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc


class TemplateMetadata(Model):
    """Labels and annotations that objects get when they are made from a template."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    labels: Annotated[Mapping[str, str], doc("Labels to set on what is made, for selectors to find it by.")] = NONE
    annotations: Annotated[
        Mapping[str, str], doc("Annotations to set on what is made: data for tools, which selectors do not see.")
    ] = NONE
