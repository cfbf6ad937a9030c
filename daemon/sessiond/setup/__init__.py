"""Installs sessiond into the settings of agents and shells, and removes exactly what it added."""
