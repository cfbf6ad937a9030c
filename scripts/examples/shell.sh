#!/usr/bin/env bash
# The work of an agent in plain shell: every step is one `sessiond rpc METHOD PARAMS`, which prints JSON.
#
#   scripts/examples/shell.sh [FOLDER]
#
# Nothing but sessiond is needed. With jq at hand a script would take ids out of the answers; here it gives its own,
# which makes each append safe to send again, too.
set -euo pipefail

folder=$(cd "${1:-.}" && pwd)
session=shell-example-$$-$(date +%s)

step() {
    printf '\n# %s\n' "$1"
    sessiond rpc "$2" "$3"
}

step 'A session' session/create '{"cwd": "'"$folder"'", "id": "'"$session"'", "title": "From a shell"}'

step 'What the user said, as OpenAI has it' session/append '{
    "sessionId": "'"$session"'", "format": "openai",
    "entries": [{"type": "message", "id": "ask-1", "message": {"role": "user", "content": "Is the build green?"}}]
}'

step 'The messages for the next request' session/context '{"sessionId": "'"$session"'", "format": "openai"}'

step 'What the model answered' session/append '{
    "sessionId": "'"$session"'", "format": "openai",
    "entries": [{"type": "message", "id": "say-1", "message": {"role": "assistant", "content": "No."}}]
}'

step 'Another answer to the same question: a branch, told what it leaves behind' session/branch '{
    "sessionId": "'"$session"'", "entryId": "ask-1", "summary": "The first answer did not say why."
}'

step 'The better answer' session/append '{
    "sessionId": "'"$session"'", "format": "openai",
    "entries": [{"type": "message", "id": "say-2", "message": {"role": "assistant", "content": "No: one test fails."}}]
}'

step 'A summary in place of what came before that answer' session/compact '{
    "sessionId": "'"$session"'", "summary": "The user asked after the build.", "firstKeptEntryId": "say-2"
}'

step 'The same messages for another provider' session/context '{"sessionId": "'"$session"'", "format": "anthropic"}'

printf '\n# The tree: nothing is gone\n'
sessiond tree "$session"
