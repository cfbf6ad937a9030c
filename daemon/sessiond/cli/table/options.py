"""Options that several commands take."""

from sessiond.cli.parse.arguments import Option

JSON = Option("json", "", "print the result exactly as the daemon sent it")
REPORT = Option("json", "", "print what was done as JSON")
HERE = Option("here", "", "only the folder itself, not the other folders of its project")
AUTOMATED = Option("automated", "", "also automated sessions: runs of claude -p, codex exec and SDKs")
AGENT = Option("agent", "NAME", "only sessions of this agent, such as claude, codex or gemini")
SINCE = Option("since", "TIME", "only from this time on: 2026-11-01, 7d, '2 weeks', yesterday, 14:30")
UNTIL = Option("until", "TIME", "only up to this time; a day is taken to its end")
CURSOR = Option("cursor", "CURSOR", "continue after the previous page (--json)")
AT_LEAF = Option("leaf", "ENTRY", "at this entry instead of the session's leaf")
INSTRUCTIONS = Option("instructions", "TEXT", "instructions for the summarizer")

FROM_A_BUNDLE = (
    Option("identity", "FILE", "decrypt with this identity of age or private key of ssh; may be repeated"),
    Option("map", "HERE=THERE", "the folder HERE was THERE where the file was written; may be repeated"),
    Option("dry-run", "", "check the file, and only report what would be stored"),
    Option("no-size-limit", "", "accept a file that decompresses to very much more than others do"),
)
"""Options for a file of bundle or backup."""

CONTEXT_WINDOW = Option("context-window", "N", "the context window of the model, in tokens")
RESERVE = Option("reserve", "N", "tokens of the window that are reserved for the response")
KEEP_RECENT = Option("keep-recent", "N", "tokens of the newest entries that stay, approximately")
