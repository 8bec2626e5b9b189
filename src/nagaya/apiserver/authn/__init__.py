"""Who is asking: credentials become a `User`, or the request is refused with 401."""
