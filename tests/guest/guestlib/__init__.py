"""Emulated machines with known counters: building, booting, and judging what ran in them."""
