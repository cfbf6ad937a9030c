"""Conversion of an agent's messages to and from the formats of provider APIs. No input or output."""
