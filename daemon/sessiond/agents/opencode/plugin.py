"""The plugin that calls `sessiond hook opencode` at events of OpenCode."""

from typing import Final

PLUGIN: Final = """\
// sessiond setup wrote this file, and sessiond setup --undo removes it.
// It tells a running sessiond that a session has changed. It waits for nothing and reports no errors.
import { spawn } from "node:child_process"

const [program, ...words] = @PROGRAM@
const events = new Set(@EVENTS@)

export const Sessiond = async () => ({
  event: async ({ event }) => {
    if (!events.has(event.type)) return
    try {
      const hook = spawn(program, words, { stdio: ["pipe", "ignore", "ignore"] })
      hook.on("error", () => {})
      hook.stdin.on("error", () => {})
      const session_id = event.properties?.sessionID ?? event.properties?.info?.id
      hook.stdin.end(JSON.stringify({ hook_event_name: event.type, session_id }))
      hook.unref()
    } catch {}
  },
})
"""
