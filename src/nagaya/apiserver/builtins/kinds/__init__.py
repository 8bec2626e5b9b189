"""What each built-in kind does differently: defaults, validation, what updates may not change. One module per area."""
