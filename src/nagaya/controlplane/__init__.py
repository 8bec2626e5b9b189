"""Control planes of tenants: on machines of their own, or hosted beside the management API."""
