"""What the emulated data center consists of: plain values, changed only by the code of calls, tasks and faults."""
