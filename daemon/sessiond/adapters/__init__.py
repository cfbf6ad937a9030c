"""Stores for agent SDKs: clients of the daemon that keep the conversations of a program as sessions.

Each module needs the package of its SDK, which is an extra: `sessiond[claude-agent-sdk]`, `sessiond[openai-agents]`.
"""
