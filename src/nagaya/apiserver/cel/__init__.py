"""The Common Expression Language as Kubernetes speaks it: rules in CRDs, admission policies and match conditions.

The language is implemented here, in Python, because only then are its types, messages and values Kubernetes' own:
objects typed by an OpenAPI schema, quantities and addresses as opaque values, and compile errors word for word. An
expression is read (`parser`), its macros are expanded (`macros`), its types are checked (`checker`, `validators`) and
it becomes a tree of Python closures (`planner`). `environment` says which functions, macros and variables exist;
`crd_rules` and `policy` are the two ways in that the rest of the server uses. Everything compiled is immutable and may
be shared by all servers of a process; what one evaluation spends is counted in its own `budget.Budget`.
"""
