"""What PVE's qemu-server knows of virtual machines: their files, drives, rights, and what may change while they run."""
