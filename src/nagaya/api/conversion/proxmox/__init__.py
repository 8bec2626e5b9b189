"""CAPMOX's kinds of v1alpha1 as those of v1alpha2, and back. Pure.

- `machines` and `clusters` say what is where in each version, and forget what the other version has no place for.
- `changes` carries a change that was made in one version over to the other.
- `objects` puts both together, so that nothing is lost: what one version has no place for is kept in an annotation.
- `review` answers an API server that serves both versions, and `serving` makes CRDs that have both.
"""
