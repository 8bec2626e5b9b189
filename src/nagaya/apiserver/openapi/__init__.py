"""What objects and requests look like, told to clients in OpenAPI v3 and v2."""
