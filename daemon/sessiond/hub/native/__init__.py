"""Resumes sessions in the agents: finds the session of an agent, or writes a new one for it."""
