"""Faces: what people and programs touch. Today the command line; the web page, HTTP API and MCP server stand beside it.

Each knows how to show the one event log and the report. None knows how research is done: they all ask the assembly.
"""
