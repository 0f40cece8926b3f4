"""Delivery channels: a finished report written to a folder, sent by e-mail or posted to a webhook.

Know the files of a report. Do not know runs, profiles or who asked for the delivery.
"""
