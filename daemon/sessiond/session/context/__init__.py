"""The context that a model receives at a leaf: messages, settings, system message, tokens."""
