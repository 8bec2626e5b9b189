"""What a tenant needs from the cloud below it, and what may keep it from getting that."""
