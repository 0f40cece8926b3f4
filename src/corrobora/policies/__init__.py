"""Policies: every decision of a run as a pure function of frozen values.

Knows threads, plans, facts, limits and readings of the meter. Does not know the clock, the network, any model or how a
decision is carried out.
"""
