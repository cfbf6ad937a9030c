"""The kinds of findings with their advice: one table for the doctor and for editor diagnostics.

`kind` is for programs; the other fields are for people. `advice` may contain `{path}`, quoted for a shell, and
`{line}`, if every finding of the kind has them.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
    "Look at it: sed -n {line}p {path} | head -c 500. All other lines count, and new ones may be added."
)

_OF_PROBLEMS: Final[Mapping[ProblemKind, str]] = {
    "emptyLog": f"{_FIX} moves it to the trash.",
    "damagedHeader": "To go on with its entries: sessiond fork {path} --cwd DIR makes a session of them.",
    "damagedLine": _LINE,
    "nulBytes": _LINE,
    "notAnEntry": _LINE,
    "invalidUtf8": "The entry counts. To find the bytes: sed -n {line}p {path} | iconv -f UTF-8 -t UTF-8 >/dev/null.",
    "tornTail": f"{_FIX} puts it aside; the next append would do so, too.",
    "cutOffBatch": f"{_FIX} puts it aside; the next append would do so, too.",
    "badParent": _TREE,
    "ownParent": _TREE,
    "lostParent": "See what hangs below it: sessiond tree {path} --filter all. An older copy may have the parent.",
    "parentLoop": _TREE,
    "sameId": "See both: sed -n {line}p {path}, and the one before it of the same id.",
    "lostLeaf": "Say where to go on: sessiond branch {path} ENTRY.",
    "moreProblems": "It may be no session file. Look at it: head -c 2000 {path}.",
}
"""The advice for each problem of a session file. `session.tree.problems` has the descriptions."""

_FIXED_PROBLEMS: Final[Mapping[ProblemKind, str]] = {
    "emptyLog": "moves it to the trash",
    "tornTail": "puts it into a file beside the session",
    "cutOffBatch": "puts it into a file beside the session",
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
        "note", "A session file may be read but not written.", "To write to it: chmod u+w {path}."
    ),
    "openToOthers": Kind(
        "warning",
        "Other users may read or write a file or a folder of sessiond.",
        f"{_FIX} closes it to them.",
        "takes the rights of others away",
    ),
    "exposedToken": Kind(
        "error",
        "Other users may have read the token that opens the TCP listener.",
        "Have another one made: rm {path}; sessiond restart. Then give it to your clients again.",
    ),
    "foreignOwner": Kind(
        "error",
        "A file or a folder belongs to another user.",
        "Find out why: ls -ld {path}. Then chown it, or move it away.",
    ),
    "symbolicLink": Kind(
        "warning",
        "A symbolic link lies where sessiond keeps its own files. It is not followed.",
        "See where it leads: ls -l {path}. Move the file itself here, or list its folder under [roots].",
    ),
    "hardLink": Kind(
        "warning",
        "A session file has a second name, so that another program may write to it under that.",
        "Find it: find ~ -samefile {path}.",
    ),
    "strangeFile": Kind(
        "note",
        "Something lies among the files of sessiond that is none of them.",
        "Look at it: ls -ld {path}.",
    ),
    "foreignDialect": Kind(
        "warning",
        "A session file of another program lies where sessiond looks for sessions. It is neither listed nor opened.",
        "Import it: sessiond import {path}.",
    ),
    "unsupportedDialect": Kind(
        "note",
        "A session file of another program lies where sessiond looks for sessions, and its format has no importer. "
        "It is neither listed nor opened.",
        "Move it to another folder if it should not be reported: {path}.",
    ),
    "sameSession": Kind(
        "warning",
        "Several files hold a session of the same id; an id leads to one of them only.",
        "Compare them; a copy that is not needed goes to the trash: sessiond delete {path}.",
    ),
    "staleDraft": Kind(
        "warning",
        "A session without an answer is older than drafts are kept.",
        f"{_FIX} moves it to the trash; the daemon does so, too, when it starts.",
        "moves it to the trash",
    ),
    "orphan": Kind(
        "warning",
        "A torn tail or an original was kept beside a session that is not there any more.",
        "Look at it: head -c 2000 {path}. When nothing in it is needed, remove it.",
    ),
    "kept": Kind(
        "note",
        "A torn tail or an original was kept beside a session.",
        "Look at it: head -c 2000 {path}. When nothing in it is needed, remove it.",
    ),
    "leftover": Kind(
        "warning",
        "A temporary file was left behind by a daemon that was killed.",
        f"{_FIX} moves it to the trash.",
        "moves it to the trash",
    ),
    "openElsewhere": Kind(
        "note",
        "Another program has a session file open for writing.",
        "That is allowed: what it appends is taken in. It should not rewrite the file.",
    ),
    "writeBlocked": Kind(
        "error",
        "An open session takes no appends now.",
        "Remove the cause; the session goes on by itself. sessiond doctor says whether it has.",
    ),
    "noNote": Kind(
        "warning",
        "A session in the trash has lost its note, so sessiond does not know where it was.",
        "To get it back, move the file by hand: mv {path} to a folder of sessions.",
    ),
    # --- blobs and databases -----------------------------------------------------------------------------------
    "missingBlob": Kind(
        "error",
        "A session names a blob that is not there.",
        f"If a good copy lies in the trash, {_FIX} brings it back. Putting the same bytes again does so, too.",
        "brings a good copy back from the trash",
    ),
    "damagedBlob": Kind(
        "error",
        "The bytes of a blob are not those that its name says.",
        f"If a good copy lies in the trash, {_FIX} brings it back. Putting the same bytes again does so, too.",
        "puts a good copy from the trash in its place, and the damaged one into the trash",
    ),
    "unnamedBlobs": Kind(
        "note", "No session names some blobs.", "Move them to the trash: sessiond blobs collect --yes."
    ),
    "damagedIndex": Kind(
        "warning",
        "The index of sessions is damaged. Nothing is lost with it: it is made again from the sessions.",
        f"{_FIX} takes it away; the next list makes a new one.",
        "moves it to the trash; the next list makes a new one",
    ),
    "damagedHistory": Kind(
        "error",
        "The history of prompts is damaged.",
        "The daemon puts it aside and begins a new one. To save what can be read: sqlite3 {path} .recover",
    ),
    "damagedCommands": Kind(
        "warning",
        "The journal of commands is damaged: a request that is repeated may be carried out again, unless a session"
        " records it.",
        f"{_FIX} puts it aside and begins a new one; the daemon does so by itself when it cannot read or write it.",
        "puts it aside, as commands.db.damaged-N, and begins a new one",
    ),
    "damagedHold": Kind(
        "warning",
        "The file of a hold is damaged, so the session of that terminal may be given to another one.",
        "The terminal holds its session again after its next: sessiond continue. The damaged file is kept then.",
    ),
    "holdPutAside": Kind(
        "note",
        "The damaged file of a hold was put aside. Its terminal has another one.",
        "Nothing needs it; remove it: rm {path}",
    ),
    "putAside": Kind(
        "note",
        "A database that was damaged was put aside.",
        "To save what can be read: sqlite3 {path} .recover. When nothing in it is needed, remove it.",
    ),
    # --- the machine -------------------------------------------------------------------------------------------
    "littleRoom": Kind(
        "warning",
        "The disk is nearly full. When it is, appends are refused until there is room.",
        "See what takes it: du -xh {path} | sort -h | tail. sessiond cleanup and sessiond purge may help.",
    ),
    "networkDisk": Kind(
        "warning",
        "A folder lies on a network filesystem, where locks and the durability of what is acknowledged depend on the"
        " server.",
        "Set SESSIOND_HOME to a folder on a local disk.",
    ),
    "volatileDisk": Kind(
        "warning",
        "A folder lies in memory: what is in it does not survive a restart of the machine.",
        "Set SESSIOND_HOME to a folder on a disk.",
    ),
    "readOnlyDisk": Kind(
        "error",
        "A folder lies on a filesystem that is mounted read-only, as after an error of the disk.",
        "See dmesg; when the disk is sound, mount it for writing again.",
    ),
    "fewWatches": Kind(
        "warning",
        "The system lets programs watch few files, so that what others write may be seen late (within a minute).",
        "sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512",
    ),
    "fewDescriptors": Kind(
        "warning",
        "The daemon may open few files at a time, so that clients have to wait when many come.",
        "Raise the limit of whoever starts it: ulimit -n, or LimitNOFILE of the service.",
    ),
    "wrongClock": Kind(
        "warning",
        "The clock of the machine is wrong, or was when something was written: times and ages are, too. The order of"
        " entries does not depend on it.",
        "See the clock: date; timedatectl.",
    ),
    "badConfig": Kind(
        "error", "The configuration cannot be used; no daemon starts with it.", "Correct {path}."
    ),
    "unsafeConfig": Kind(
        "error",
        "Another user can change the configuration, which may name a program to run; no daemon starts with it.",
        "Check the contents of {path}, then take the rights of others away: chmod go-w.",
    ),
    "misplacedConfig": Kind(
        "warning",
        "A file looks like the configuration, but the daemon reads another one.",
        "Move {path} to the place that the finding names, or remove it.",
    ),
    "missingRoot": Kind(
        "warning",
        "A folder under [roots] cannot be listed.",
        "Fix its name under [roots], or take it out there.",
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
    "hung": Kind(
        "error",
        "The daemon is there, but does not answer.",
        "Wait a moment and look again. What is acknowledged is on disk; the next command starts another.",
    ),
    "unreachable": Kind(
        "error",
        "A daemon holds the lock, but nobody listens at its socket.",
        f"{_FIX} asks it to listen again.",
        "asks the daemon to listen again",
    ),
    "lockHeldElsewhere": Kind(
        "error",
        "A process that is not the daemon of endpoint.json holds the daemon's lock.",
        "See who: fuser -v {path}. When another machine shares the folder, set SESSIOND_HOME to one of this machine.",
    ),
    "lockLost": Kind(
        "error",
        "The lock file of a running daemon was removed or replaced, so a second daemon could start.",
        "sessiond stop, then go on: the next command starts a daemon with a lock.",
    ),
    "startHeld": Kind(
        "warning",
        "A process has been starting the daemon for some time; others wait for it.",
        "Wait 15 seconds and look again. If it stays so, end that process: fuser -v {path}.",
    ),
    "staleSocket": Kind(
        "note",
        "A daemon that was killed has left its socket behind.",
        "Nothing: the next daemon replaces it.",
    ),
    "staleEndpoint": Kind(
        "note",
        "endpoint.json tells of a daemon that does not run any more.",
        "Nothing: the next daemon writes its own.",
    ),
    "damagedEndpoint": Kind(
        "warning",
        "endpoint.json cannot be read; a running daemon writes it again within a minute.",
        f"Wait a minute, or: {_FIX}.",
        "has the daemon write it again",
    ),
    "foreignSocket": Kind(
        "error",
        "At the daemon's socket is something that is not a socket of yours. Nothing is sent to it.",
        "See what it is: ls -l {path}. Move it away, or set SESSIOND_HOME.",
    ),
    "longSocketPath": Kind(
        "note",
        "The usual path of the socket is too long for one, so it lies elsewhere.",
        "Nothing: sessiond status says where, and every client finds it.",
    ),
    "otherVersion": Kind(
        "warning",
        "The daemon that runs is of another version than this command.",
        "sessiond stop; the next command starts one of this version.",
    ),
    "runtimeFolder": Kind(
        "warning",
        "XDG_RUNTIME_DIR names a folder that cannot be used for the socket.",
        "It should be a folder of yours with the rights 0700: see ls -ld {path}. Another place is used instead.",
    ),
    "noRuntimeFolder": Kind(
        "note",
        "XDG_RUNTIME_DIR is not set, as in cron, su or a container.",
        "Nothing: another place is used for the socket.",
    ),
    "badFolder": Kind(
        "error", "A folder of sessiond cannot be used.", "See ls -ld {path}, or set SESSIOND_HOME."
    ),
    "noLingering": Kind(
        "note",
        "systemd may end your processes, the daemon too, when you log out. Nothing acknowledged is lost with it.",
        "To let it go on: loginctl enable-linger.",
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
            path=shown, session_id=session_id, line=line, byte_offset=byte_offset, blob=blob
        ),
        advice=advice or known.advice.format(path="" if shown is None else shlex.quote(shown), line=line),
        fixable=bool(known.fixes) if fixable is None else fixable,
    )


def _as_text(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
