"""Tables on many machines, or larger than the memory of one."""
