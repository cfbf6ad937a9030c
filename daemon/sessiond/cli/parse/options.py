"""Options that several commands take."""

from sessiond.cli.parse.arguments import Option

JSON = Option("json", "", "print the result exactly as the daemon sent it")
REPORT = Option("json", "", "print what was done as JSON")
CURSOR = Option("cursor", "CURSOR", "go on where a page (--json) ended")
AT_LEAF = Option("leaf", "ENTRY", "at this entry instead of the session's leaf")
INSTRUCTIONS = Option("instructions", "TEXT", "what the summary should pay attention to")

CONTEXT_WINDOW = Option("context-window", "N", "tokens that the model takes")
RESERVE = Option("reserve", "N", "tokens of them to keep free for the answer")
KEEP_RECENT = Option("keep-recent", "N", "tokens of the newest entries to keep as they are, about")
