"""What is done to machines, by calls, tasks and the HA manager alike: each takes its time, its locks, and can fail."""
