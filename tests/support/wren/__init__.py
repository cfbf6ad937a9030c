"""An agent that does not exist, as a folder of `sessiond.agents`: only what a new agent needs."""
