"""The functions an expression can call, one module per subject; each exports its declarations as `FUNCTIONS`."""
