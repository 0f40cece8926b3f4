"""Benches and evaluations: each prints the figures that docs/evidence.md states."""
