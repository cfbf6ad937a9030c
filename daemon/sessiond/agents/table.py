"""The table of all agents."""

from typing import Final

from sessiond.agents.agent import Agent
from sessiond.agents.claude_code.row import CLAUDE_CODE
from sessiond.agents.cline.row import CLINE
from sessiond.agents.codex.row import CODEX
from sessiond.agents.copilot.row import COPILOT
from sessiond.agents.cursor.row import CURSOR
from sessiond.agents.gemini.row import GEMINI
from sessiond.agents.nova.row import NOVA
from sessiond.agents.oh_my_pi.row import OH_MY_PI
from sessiond.agents.opencode.row import OPENCODE
from sessiond.agents.pi.row import PI
from sessiond.agents.qwen.row import QWEN

AGENTS: Final[dict[str, Agent]] = {
    agent.name: agent
    for agent in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE, QWEN, PI, OH_MY_PI, COPILOT, CURSOR, CLINE, NOVA)
}
"""The agents by name, in the order in which they are listed."""
