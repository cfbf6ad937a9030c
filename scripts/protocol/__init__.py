"""One file for each target that is rendered from the protocol's schema."""
