"""Doors for other programs: MCP over any transport."""
