"""Faces: what people and programs touch. The command line, the web page, the HTTP API and the MCP server.

Each knows how to show the one event log and the report. None knows how research is done: they all ask the assembly.
"""
