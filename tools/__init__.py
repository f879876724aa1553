"""Tools for development: the size of the house, the fuzzer, the faults."""
