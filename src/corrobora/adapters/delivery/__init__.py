"""Delivery: a finished report handed on to a folder, by e-mail or to a webhook, one file for each.

Knows the files of a report. Does not know runs, profiles or who asked for the delivery.
"""
