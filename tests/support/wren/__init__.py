"""An agent that does not exist, as a folder of `sessiond.agents`: what a new agent needs, and nothing else."""
