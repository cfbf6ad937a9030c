"""The kinds of findings with their advice: one table for the doctor and for editor diagnostics.

`kind` is for programs; the other fields are for people. `advice` may contain `{path}`, quoted for a shell, and
`{line}`, if every finding of the kind has them.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET

from sessiond.protocol.enums import FindingSeverity
from sessiond.protocol.types.doctor import Finding, FindingLocation
from sessiond.session.tree.problems import PROBLEMS, ProblemKind


@dataclass(frozen=True)
class Kind:
    """The texts of one kind of finding. `fixes` describes the repair that `fix` does; empty if there is none."""

    severity: FindingSeverity
    means: str
    advice: str
    fixes: str = ""


_FIX: Final = "sessiond doctor --fix"

_TREE: Final = "Nothing is lost. See sessiond tree {path} --filter all."
_LINE: Final = (
    "View it: sed -n {line}p {path} | head -c 500. All other lines are read, and new ones can be added."
)

_OF_PROBLEMS: Final[Mapping[ProblemKind, str]] = {
    "emptyLog": f"{_FIX} moves it to the trash.",
    "damagedHeader": "To continue with its entries: sessiond fork {path} --cwd DIR copies them into a new session.",
    "damagedLine": _LINE,
    "nulBytes": _LINE,
    "notAnEntry": _LINE,
    "invalidUtf8": "The entry is read. To find the bytes: sed -n {line}p {path} | iconv -f UTF-8 -t UTF-8 >/dev/null.",
    "tornLine": f"{_FIX} moves it to a file beside the session; the next append does so, too.",
    "incompleteBatch": f"{_FIX} moves it to a file beside the session; the next append does so, too.",
    "invalidParent": _TREE,
    "selfParent": _TREE,
    "missingParent": "To see the entries below it: sessiond tree {path} --filter all. A backup may have it.",
    "parentCycle": _TREE,
    "duplicateEntryId": "View both: sed -n {line}p {path}, and the earlier line with the same id.",
    "missingLeaf": "Set the leaf: sessiond branch {path} ENTRY.",
    "moreProblems": "It may not be a session file. View it: head -c 2000 {path}.",
}
"""The advice for each problem of a session file. `session.tree.problems` has the descriptions."""

_FIXED_PROBLEMS: Final[Mapping[ProblemKind, str]] = {
    "emptyLog": "moves it to the trash",
    "tornLine": "moves it to a file beside the session",
    "incompleteBatch": "moves it to a file beside the session",
}

KINDS: Final[Mapping[str, Kind]] = {
    **{
        kind: Kind(severity, means, _OF_PROBLEMS[kind], _FIXED_PROBLEMS.get(kind, ""))
        for kind, (severity, means) in PROBLEMS.items()
    },
    # --- about a session file ----------------------------------------------------------------------------------
    "unreadable": Kind(
        "error", "A file cannot be read.", "Make it readable: chmod u+r {path}, or see ls -l {path}."
    ),
    "readOnlyFile": Kind(
        "note", "A session file can be read but not written.", "To write to it: chmod u+w {path}."
    ),
    "insecurePermissions": Kind(
        "warning",
        "Other users can read or write a file or a folder of sessiond.",
        f"{_FIX} removes their permissions.",
        "removes the permissions of other users",
    ),
    "secretFound": Kind(
        "warning",
        "An entry, a blob or a prompt has a secret, such as a key or a password.",
        "Make the secret invalid where it is accepted.",
    ),
    "fewerSecretRules": Kind(
        "warning",
        "Secrets of fewer kinds were looked for.",
        "Install kingfisher-secret-scanner beside sessiond.",
    ),
    "exposedToken": Kind(
        "error",
        "Other users may have read the token that opens the TCP listener.",
        "Create another one: rm {path}; sessiond restart. Then pass it to your clients again.",
    ),
    "foreignOwner": Kind(
        "error",
        "A file or a folder belongs to another user.",
        "Find the cause: ls -ld {path}. Then change its owner with chown, or move it to another folder.",
    ),
    "symbolicLink": Kind(
        "warning",
        "A symbolic link is in a folder of sessiond. It is not followed.",
        "View its target: ls -l {path}. Move the file itself here, or list its folder under [roots].",
    ),
    "hardLink": Kind(
        "warning",
        "A session file has a second name, under which another program can write to it.",
        "Find it: find ~ -samefile {path}.",
    ),
    "unknownFile": Kind(
        "note",
        "A folder of sessiond has a file that is not one of sessiond.",
        "View it: ls -ld {path}.",
    ),
    "foreignDialect": Kind(
        "warning",
        "A session file of another program is in a folder of sessions. It is neither listed nor opened.",
        "Import it: sessiond import {path}.",
    ),
    "duplicateSessionId": Kind(
        "warning",
        "Several files have sessions with the same id. The id refers to one of them only.",
        "Compare them. To move a copy to the trash: sessiond delete {path}.",
    ),
    "staleDraft": Kind(
        "warning",
        "A draft session is older than the maximum age of drafts.",
        f"{_FIX} moves it to the trash. The daemon does so, too, when it starts.",
        "moves it to the trash",
    ),
    "orphanedFile": Kind(
        "warning",
        "A torn line or an original file is beside a session that no longer exists.",
        "View it: head -c 2000 {path}. If you do not need it, remove it.",
    ),
    "preservedFile": Kind(
        "note",
        "A torn line or an original file is beside a session.",
        "View it: head -c 2000 {path}. If you do not need it, remove it.",
    ),
    "damagedPackedFile": Kind(
        "error",
        "A packed file is damaged or was cut off.",
        f"{_FIX} makes a plain file of the lines that can be read, and keeps the packed one.",
        "makes a plain file of its readable lines",
    ),
    "doublePackedFile": Kind(
        "warning",
        "A session has a plain and a packed file.",
        f"The plain one counts. {_FIX} removes the packed one if the plain one has all of it, or renames it.",
        "removes or renames the packed one",
    ),
    "staleTemporaryFile": Kind(
        "warning",
        "A daemon that was killed left a temporary file.",
        f"{_FIX} moves it to the trash.",
        "moves it to the trash",
    ),
    "openElsewhere": Kind(
        "note",
        "Another program has a session file open for writing.",
        "This is allowed: sessiond reads what it appends. It should not rewrite the file.",
    ),
    "writeBlocked": Kind(
        "error",
        "An open session accepts no appends at present.",
        "Remove the cause. The session then accepts appends without a restart; sessiond doctor shows whether it does.",
    ),
    "missingTrashNote": Kind(
        "warning",
        "A session in the trash has no note, so its former path is unknown.",
        "To restore it, move the file to a folder of sessions: mv {path} FOLDER.",
    ),
    # --- blobs and databases -----------------------------------------------------------------------------------
    "missingBlob": Kind(
        "error",
        "A session references a blob that does not exist.",
        f"If the trash has an intact copy, {_FIX} restores it. A blob/put of the same bytes does so, too.",
        "restores an intact copy from the trash",
    ),
    "damagedBlob": Kind(
        "error",
        "The bytes of a blob do not match its hash.",
        f"If the trash has an intact copy, {_FIX} restores it. A blob/put of the same bytes does so, too.",
        "replaces it by an intact copy from the trash, and moves the damaged one to the trash",
    ),
    "damagedOriginal": Kind(
        "error",
        "An original of an agent's file is damaged or missing.",
        "The session has its content. A backup of the data folder may have the original.",
    ),
    "unreferencedBlobs": Kind(
        "note", "No session references some blobs.", "Move them to the trash: sessiond blobs collect --yes."
    ),
    "damagedIndex": Kind(
        "warning",
        "The index of sessions is damaged. No data is lost: the index is rebuilt from the sessions.",
        f"{_FIX} moves it to the trash; the next list creates a new one.",
        "moves it to the trash; the next list creates a new one",
    ),
    "damagedHistory": Kind(
        "error",
        "The history of prompts is damaged.",
        "The daemon renames it and creates a new one. To recover its content: sqlite3 {path} .recover",
    ),
    "damagedCommands": Kind(
        "warning",
        "The journal of commands is damaged: a repeated request may take effect again, unless a session"
        " records it.",
        f"{_FIX} renames it and creates a new one; the daemon does so, too, if it cannot read or write it.",
        "renames it to commands.db.damaged-N, and creates a new one",
    ),
    "damagedHold": Kind(
        "warning",
        "The file of a hold is damaged, so another terminal may continue the session of that terminal.",
        "The next sessiond continue in that terminal creates a new hold and renames the damaged file.",
    ),
    "quarantinedHold": Kind(
        "note",
        "The damaged file of a hold was renamed. Its terminal has a new one.",
        "It is not needed. To remove it: rm {path}",
    ),
    "quarantinedDatabase": Kind(
        "note",
        "A damaged database was renamed.",
        "To recover its content: sqlite3 {path} .recover. If you do not need it, remove it.",
    ),
    # --- the machine -------------------------------------------------------------------------------------------
    "lowDiskSpace": Kind(
        "warning",
        "The disk is nearly full. If it becomes full, appends are refused until space is free.",
        "To find large files: du -xh {path} | sort -h | tail. sessiond cleanup and sessiond purge may help.",
    ),
    "diskFullSoon": Kind(
        "warning",
        "The disk will be full in a month, if sessions grow as in the last one.",
        "See what takes the space: sessiond storage.",
    ),
    "networkDisk": Kind(
        "warning",
        "A folder is on a network filesystem, where locks and the durability of acknowledged entries depend on the"
        " server.",
        "Set SESSIOND_HOME to a folder on a local disk.",
    ),
    "volatileDisk": Kind(
        "warning",
        "A folder is in memory: its content is lost at a restart of the machine.",
        "Set SESSIOND_HOME to a folder on a disk.",
    ),
    "readOnlyDisk": Kind(
        "error",
        "A folder is on a filesystem that is mounted read-only, as after a disk error.",
        "See dmesg. If the disk has no errors, mount it for writing again.",
    ),
    "lowWatchLimit": Kind(
        "warning",
        "The system limits watched files, so changes by other programs may be detected late (within a minute).",
        "sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512",
    ),
    "otherHome": Kind(
        "note",
        "The daemon was started with another home folder than the command.",
        "sessiond agents shows which folders are followed; sessiond agents follow adds those of this home.",
    ),
    "failedTask": Kind(
        "warning",
        "A part of the daemon that works in the background ended with an error.",
        "The daemon begins it again after a pause. Its log has the whole error; please report it.",
    ),
    "agentNotFollowed": Kind(
        "warning",
        "An agent is in the list of followed agents, and an error prevents it.",
        "The daemon tries again after a pause. Its log has the whole error; please report it.",
    ),
    "agentFileSkipped": Kind(
        "note",
        "A file of a followed agent is not read.",
        "All its other files are followed. View it: ls -ld {path}; head -c 500 {path}. If a newer version of the agent"
        " wrote it, update sessiond.",
    ),
    "giantAgentFile": Kind(
        "note",
        "A session file of a followed agent has more than a gigabyte.",
        "It is kept whole. An agent may fail to load it; to go on in a new session: sessiond resume.",
    ),
    "agentWillDelete": Kind(
        "warning",
        "An agent will delete session files within a week that are not here, or not completely.",
        "See which and why: sessiond storage. Files of followed agents are read; sessiond agents names the others.",
    ),
    "agentFileForbidden": Kind(
        "note",
        "You have no right to read a file or folder of a followed agent.",
        "As its owner, give yourself the right: chmod u+rX {path}. It is then read.",
    ),
    "agentFileLinked": Kind(
        "note",
        "A file of a followed agent is a symbolic link, or a link leads to a folder above the agent's. It is not read.",
        "To import once what it names: sessiond import {path}. To follow it, move it to the place of the link.",
    ),
    "agentLineDamaged": Kind(
        "note",
        "A line in a file of a followed agent cannot be read, or not in its place.",
        "All other lines are read. View it: sed -n {line}p {path} | head -c 500. If a newer version of the agent wrote"
        " it, update sessiond.",
    ),
    "agentFileDamaged": Kind(
        "note",
        "A file of a followed agent cannot be read as a whole.",
        "All that could be read is here. See: sessiond import {path} --json.",
    ),
    "uncheckedAgentVersion": Kind(
        "note",
        "A newer version of a followed agent than the one that was checked writes its sessions.",
        "Lines of kinds that are not known are stored unchanged; sessiond agents counts them. Update sessiond.",
    ),
    "lowDescriptorLimit": Kind(
        "warning",
        "The daemon can open few files at a time, so clients have to wait if there are many.",
        "Raise the limit of the process that starts it: ulimit -n, or LimitNOFILE of the service.",
    ),
    "otherStore": Kind(
        "note",
        "Sessions are not stored in files. The message says what decides which failures an acknowledged append"
        " survives.",
        "In a database, fsync and synchronous_commit decide what a crash loses. Memory ends with the daemon.",
    ),
    "wrongClock": Kind(
        "warning",
        "The clock of the machine is wrong, or was when an entry was written, so times and ages are wrong. The order of"
        " entries does not depend on it.",
        "Check the clock: date; timedatectl.",
    ),
    "invalidConfig": Kind(
        "error", "The configuration is not valid; no daemon starts with it.", "Correct {path}."
    ),
    "unsafeConfig": Kind(
        "error",
        "Another user can change the configuration, which may name a program to run; no daemon starts with it.",
        "Check the contents of {path}, then remove the permissions of other users: chmod go-w.",
    ),
    "misplacedConfig": Kind(
        "warning",
        "A file has the name of a configuration file, but the daemon reads another file.",
        "Move {path} to the place that the finding names, or remove it.",
    ),
    "missingRoot": Kind(
        "warning",
        "A folder under [roots] cannot be listed.",
        "Correct its name under [roots], or remove it there.",
    ),
    "errorsLogged": Kind(
        "warning",
        "The daemon has written errors to its log in the last day.",
        "See them: grep -n ERROR {path} | tail.",
    ),
    "warningsLogged": Kind(
        "note",
        "The daemon has written warnings to its log in the last day.",
        "See them: grep -n WARNING {path} | tail.",
    ),
    # --- the daemon and the way to it --------------------------------------------------------------------------
    "notRunning": Kind("note", "No daemon runs.", "Any command that needs one starts it."),
    "unresponsive": Kind(
        "error",
        "The daemon runs, but does not respond.",
        "Wait a moment and try again. Acknowledged entries are on disk; the next command starts another daemon.",
    ),
    "unreachable": Kind(
        "error",
        "A daemon holds the lock, but no process listens at its socket.",
        f"{_FIX} asks it to listen again.",
        "asks the daemon to listen again",
    ),
    "lockHeldElsewhere": Kind(
        "error",
        "A process that is not the daemon of endpoint.json holds the daemon's lock.",
        "To find it: fuser -v {path}. If another machine shares the folder, set SESSIOND_HOME to a local folder.",
    ),
    "lockLost": Kind(
        "error",
        "The lock file of a running daemon was removed or replaced, so a second daemon could start.",
        "Run sessiond stop; the next command starts a daemon with a lock.",
    ),
    "startLockHeld": Kind(
        "warning",
        "A process has been starting the daemon for some time; others wait for it.",
        "Wait 15 seconds and try again. If the process still holds it, end it: fuser -v {path}.",
    ),
    "staleSocket": Kind(
        "note",
        "A daemon that was killed left its socket.",
        "No action: the next daemon replaces it.",
    ),
    "staleEndpoint": Kind(
        "note",
        "endpoint.json names a daemon that no longer runs.",
        "No action: the next daemon replaces it.",
    ),
    "damagedEndpoint": Kind(
        "warning",
        "endpoint.json cannot be read; a running daemon writes it again within a minute.",
        f"Wait a minute, or: {_FIX}.",
        "asks the daemon to write it again",
    ),
    "foreignSocket": Kind(
        "error",
        "The file at the path of the daemon's socket is not a socket of yours. Nothing is sent to it.",
        "View it: ls -l {path}. Move it, or set SESSIOND_HOME.",
    ),
    "longSocketPath": Kind(
        "note",
        "The usual path of the socket is too long, so the socket has another path.",
        "No action: sessiond status shows the path, and every client finds it.",
    ),
    "versionMismatch": Kind(
        "warning",
        "The running daemon has another version than this command.",
        "sessiond stop; the next command starts one of this version.",
    ),
    "unusableRuntimeFolder": Kind(
        "warning",
        "XDG_RUNTIME_DIR names a folder that cannot be used for the socket.",
        "It should be a folder of yours with mode 0700: see ls -ld {path}. The socket is in another folder.",
    ),
    "noRuntimeFolder": Kind(
        "note",
        "XDG_RUNTIME_DIR is not set, as in cron, su or a container.",
        "No action: the socket is in another folder.",
    ),
    "unusableFolder": Kind(
        "error", "A folder of sessiond cannot be used.", "See ls -ld {path}, or set SESSIOND_HOME."
    ),
    "noLingering": Kind(
        "note",
        "systemd may end your processes, including the daemon, when you log out. Acknowledged entries are kept.",
        "To prevent this: loginctl enable-linger.",
    ),
}


def finding(
    kind: str,
    message: str,
    path: str | None = None,
    *,
    severity: FindingSeverity | None = None,
    session_id: str | None = None,
    line: int | None = None,
    byte_offset: int | None = None,
    blob: str | None = None,
    entry_id: str | None = None,
    fixable: bool | None = None,
    advice: str | None = None,
) -> Finding:
    """Return a finding of this kind. Bytes of a path that are not valid UTF-8 become U+FFFD.

    Args:
        kind: A key of `KINDS`.
        message: A sentence about this finding.
        path: The file or folder of the finding.
        severity: Default: that of the kind.
        session_id: The session of the finding.
        line: Physical line in the file, 1-based.
        byte_offset: Offset in the file, in bytes.
        blob: The hash of the blob.
        entry_id: The entry of the finding.
        fixable: Whether `fix` can repair it; default: whether the kind has `fixes`.
        advice: Default: that of the kind, with `path` and `line` filled in.
    """
    known = KINDS[kind]
    shown = None if path is None else _as_text(path)
    return Finding(
        kind=kind,
        severity=severity or known.severity,
        message=_as_text(message),
        location=FindingLocation(
            path=shown,
            session_id=session_id,
            line=line,
            byte_offset=byte_offset,
            blob=blob,
            entry_id=UNSET if entry_id is None else _as_text(entry_id),
        ),
        advice=advice or known.advice.format(path="" if path is None else shell_word(path), line=line),
        fixable=bool(known.fixes) if fixable is None else fixable,
    )


def shell_word(path: str) -> str:
    """Return a path as a word of a shell: with escapes for characters that a terminal or a text cannot have."""
    if path.isprintable():
        return shlex.quote(path)
    escaped = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b"\\'" else f"\\x{byte:02x}"
        for byte in path.encode("utf-8", "surrogateescape")
    )
    return f"$'{escaped}'"


def _as_text(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
