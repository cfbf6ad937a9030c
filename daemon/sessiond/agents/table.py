"""The table of all agents."""

from typing import Final

from sessiond.agents.agent import Agent
from sessiond.agents.claude_code import CLAUDE_CODE
from sessiond.agents.cline import CLINE
from sessiond.agents.codex import CODEX
from sessiond.agents.copilot import COPILOT
from sessiond.agents.cursor import CURSOR
from sessiond.agents.gemini import GEMINI
from sessiond.agents.oh_my_pi import OH_MY_PI
from sessiond.agents.opencode import OPENCODE
from sessiond.agents.pi import PI
from sessiond.agents.qwen import QWEN

AGENTS: Final[dict[str, Agent]] = {
    it.name: it for it in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE, QWEN, PI, OH_MY_PI, COPILOT, CURSOR, CLINE)
}
"""The agents by name, in the order in which they are listed."""
