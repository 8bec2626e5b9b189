"""etcd's API, version 3, spoken over any stream: through a tenant's API server, or directly to a datastore."""
