"""What a model sees at a leaf, and why: messages, settings, system message, tokens."""
