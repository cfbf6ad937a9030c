"""An agent's messages in the shapes of the providers' APIs, written and read. Pure, like all of the core."""
