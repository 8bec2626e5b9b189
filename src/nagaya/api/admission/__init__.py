"""What the schema cannot say: defaults and checks that look at several fields, or at the object as it was before.

Every kind has a module with `default` and `validate`. They are pure: they run in the embedded API server's process as
well as behind a webhook of a real one. Two things always hold:

- `default` is called before the schema is checked, so it must take anything; what has the wrong type is left for the
  schema to refuse. It returns a new object and leaves the given one as it was.
- Messages are Cluster API's and Kubernetes' own, because people and tools search for them.
"""
