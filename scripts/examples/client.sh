#!/usr/bin/env bash
# A client: append each line of the input to a new session, and print what anybody appends to it.
# `sessiond attach` starts the daemon. After a daemon has ended, it starts the next one for the next request.
set -euo pipefail
session=shell-$$-$RANDOM$RANDOM
number=0 message='' lagged=''
coproc daemon { sessiond attach --stdio; }

receive() { # wait for a message; print what was appended to the session
    IFS= read -r message <&"${daemon[0]}"
    case $message in
        *'"method":"session/lagged"'*) lagged=$message ;; # the new daemon knows no subscription
        *'"method":"session/appended"'*) # an id in front of `parentId` is the id of an entry
            grep -o '"id":"[^"]*","parentId"' <<<"$message" | cut -d '"' -f 4 | sed 's/^/appended: /' ;;
    esac
}

call() { # call METHOD PARAMS: wait for the response; notifications may arrive before it
    number=$((number + 1))
    printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' $number "$1" "$2" >&"${daemon[1]}"
    until [[ $message == '{"jsonrpc":"2.0","id":'$number,* ]]; do receive; done
    [[ $message == *'"result":'* ]] || { printf '%s\n' "$message" >&2; exit 1; }
}

field() { # field NAME: the first value of this name in the last message that was kept
    sed "s/.*\"$1\":\"\{0,1\}\([^,}\"]*\).*/\1/" <<<"$lagged"
}

call server/hello '{"protocolVersions": [1]}'
# Requests with the same `commandId` take effect once, however often they are sent.
call session/create '{"cwd": "'"$1"'", "id": "'"$session"'", "commandId": "create '"$session"'"}'
printf 'session: %s\n' "$session"
while IFS= read -r text; do
    text=${text//\\/\\\\} text=${text//\"/\\\"} text=${text//$'\t'/\\t}
    entry='{"type": "message", "id": "line-'$number'", "message": {"role": "user", "content": "'$text'"}}'
    call session/append '{"sessionId": "'"$session"'", "entries": ['"$entry"']}' # repeated, it is stored once
    if [ -n "$lagged" ]; then
        after='{"logId": "'$(field logId)'", "seq": '$(field lastSeq)'}'
        lagged=''
        call session/subscribe '{"sessionId": "'"$session"'", "after": '"$after"'}'
    fi
    call session/context '{"sessionId": "'"$session"'"}'
    printf 'messages: %s\n' "$(sed 's/.*"messageCount":\([0-9]*\).*/\1/' <<<"$message")"
done
