"""What the API holds, kept in memory: reads cost nothing, and changes are told instead of asked for."""
