// The texts of rows for entries and sessions: one line each, escaped, the same as in Neovim.
import type { ListedSession, SessionInfo, TreeNode } from "../protocol.ts";
import { agePhrase, ago, count, fit, isolated, markdown, oneLine } from "./text.ts";

/** A codicon, and its theme color if it is not that of the text; or the initials of an agent instead. */
export interface Icon {
  readonly id: string;
  readonly color?: string;
  readonly initials?: string;
}

type TypeAndRole = Pick<TreeNode, "type" | "role">;

const ROLES: Readonly<Record<string, string>> = {
  toolResult: "tool",
  bashExecution: "shell",
  compaction: "compacted",
  branch_summary: "summary",
  custom_message: "custom",
};

const ICONS: Readonly<Record<string, string>> = {
  user: "account",
  assistant: "sparkle",
  tool: "tools",
  shell: "terminal",
  compacted: "fold",
  summary: "note",
  custom: "comment",
  label: "tag",
  model_change: "settings-gear",
  thinking_level_change: "settings-gear",
  mode_change: "settings-gear",
  session_info: "edit",
};

/** The role of the row's message, or the type of the entry. */
export function roleOf(row: TypeAndRole): string {
  const role = row.role ?? row.type;
  return oneLine(Object.hasOwn(ROLES, role) ? ROLES[role] : role) || "entry";
}

/** The preview of an entry in one line; its role in parentheses if the preview is empty. */
export function textOf(row: Pick<TreeNode, "type" | "role" | "preview">): string {
  return oneLine(row.preview) || `(${roleOf(row)})`;
}

export interface RowWords {
  /** The label in brackets, then the text. */
  readonly label: string;
  /** The length of the bracketed label at the beginning of `label`. */
  readonly labelLength: number;
  readonly description: string;
  /** The label for screen readers. */
  readonly accessibleText: string;
  readonly icon: Icon;
  /** The context value of the row, for the conditions of menus. */
  readonly context: string;
}

/** A longer label would take the row. The tooltip and the view of labels show all of it. */
const MAX_LABEL_LENGTH = 24;

/** The texts of a row. `tip` is whether the row shows the leaf. `now` is in milliseconds. */
export function rowWords(row: TreeNode, tip: boolean, now: number): RowWords {
  const mark = row.label === null ? "" : `[${isolated(fit(oneLine(row.label), MAX_LABEL_LENGTH))}]`;
  const role = roleOf(row);
  const text = textOf(row);
  const when = ago(row.timestamp, now);
  const forks = row.childCount > 1 ? count(row.childCount, "branch", "branches") : "";
  const hidden = row.hiddenCount > 0 ? `${row.hiddenCount} more` : "";
  const color = tip ? "charts.green" : row.onPath ? undefined : "disabledForeground";
  return {
    label: mark === "" ? isolated(text) : `${mark} ${isolated(text)}`,
    labelLength: mark.length,
    description: joined(tip ? "◀ leaf" : "", hidden, forks, when),
    accessibleText: [
      role,
      text,
      row.label === null ? "" : `labeled ${oneLine(row.label)}`,
      hidden,
      forks,
      tip ? "leaf" : row.onPath ? "on the path" : "off the path",
      agePhrase(when),
    ]
      .filter(Boolean)
      .join(", "),
    icon: { id: Object.hasOwn(ICONS, role) ? (ICONS[role] as string) : "circle-outline", ...(color && { color }) },
    context: contextOf(row, tip && "+leaf", row.onPath && "+path"),
  };
}

/** The context value of an entry's row, for the conditions of menus. */
export function contextOf(entry: Pick<TreeNode, "type" | "role" | "label">, ...more: readonly (string | false)[]): string {
  return [
    "entry",
    entry.type === "message" && "+message",
    entry.role === "user" && "+user",
    entry.label !== null && "+labeled",
    ...more,
  ]
    .filter(Boolean)
    .join("");
}

type TitledSession = Pick<SessionInfo, "sessionId" | "title" | "firstPrompt">;

/** The title of a session, else its first prompt, else its id. */
export function titleOf(session: TitledSession): string {
  return fit(oneLine(session.title) || oneLine(session.firstPrompt) || oneLine(session.sessionId), 80);
}

/** A session of a list, whose counts may not be known yet, or a session that is open. */
export type KnownSession = SessionInfo | ListedSession;

export interface SessionWords {
  readonly label: string;
  readonly description: string;
  readonly accessibleText: string;
  readonly icon: Icon;
  readonly context: string;
}

const LIFECYCLES: Readonly<Partial<Record<NonNullable<ListedSession["lifecycle"]>, string>>> = {
  aborted: "aborted",
  error: "ended in an error",
  interrupted: "interrupted",
};

/** The characters of a title that are seen in a narrow view. */
export const NARROW_TITLE_LENGTH = 40;

/** The texts of a row. `added` distinguishes it from rows that look the same; the title leaves room for it. */
export function sessionWords(session: KnownSession, current: boolean, now: number, added: readonly string[] = []): SessionWords {
  const marks = [
    session.isDraft && "draft",
    (session.parentSessionId ?? session.parentPath) && "fork", // it has the title of its parent
    session.writeBlock ? "writes blocked" : session.readOnly && "read-only",
    session.problemCount ? count(session.problemCount, "problem") : "",
    session.origin && oneLine(session.origin.agent),
    session.origin?.automated && "automated",
    session.origin?.gone && "deleted by its agent",
    session.origin?.archived && "archived by its agent",
    "lifecycle" in session && session.lifecycle !== null ? LIFECYCLES[session.lifecycle] : "",
  ].filter(Boolean) as string[];
  const tags = session.tags.map((tag) => `#${oneLine(tag)}`).join(" ");
  const when = ago(session.updatedAt, now);
  const messages = session.messageCount === null ? "" : count(session.messageCount, "message");
  const label = titleOf(session);
  const damaged = session.readOnly || Boolean(session.writeBlock) || Boolean(session.problemCount);
  return {
    label: isolated(added.length > 0 ? fit(label, NARROW_TITLE_LENGTH) : label),
    description: joined(...added.map(isolated), when, messages, tags, ...marks),
    accessibleText: [label, ...added, current ? "shown in the tree" : "", agePhrase(when), messages, tags, ...marks]
      .filter(Boolean)
      .join(", "),
    icon: damaged
      ? { id: "warning", color: "list.warningForeground" }
      : current
        ? { id: "eye", color: "charts.green" }
        : { id: session.isDraft ? "edit" : "comment-discussion", ...(session.origin && { initials: initialsOf(session.origin.agent) }) },
    context: sessionContext(session) + (current ? "+current" : ""),
  };
}

/** The facts of a session that menus and the palette use: whether it has a file and an agent, and is a draft. */
export function sessionContext(session: KnownSession): string {
  const kinds = [session.path !== null && "+file", session.isDraft && "+draft", session.origin && "+agent"];
  return `session${kinds.filter(Boolean).join("")}`;
}

/** The initials of an agent's name, such as CC for claude-code: at most two letters or digits. */
export function initialsOf(agent: string): string {
  const words = agent.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const letters = words.length > 1 ? words.slice(0, 2).map((word) => [...word][0]) : [...words.join("")].slice(0, 2);
  return letters.join("").toUpperCase();
}

/** A session as a Markdown tooltip. */
export function sessionTooltip(session: KnownSession): string {
  const line = (name: string, value: unknown): string =>
    value === null || value === undefined || value === "" ? "" : `- ${name}: ${markdown(oneLine(String(value)))}`;
  return [
    `**${markdown(titleOf(session))}**`,
    "",
    line("First prompt", session.title ? session.firstPrompt : null),
    line("Folder", session.cwd),
    line("File", session.path),
    line("Id", session.sessionId),
    line("Model", "model" in session ? session.model : null),
    line("Created", session.createdAt),
    line("Updated", session.updatedAt),
    line("Entries", session.entryCount),
    line("Tags", session.tags.join(", ")),
    line("Agent", session.origin && [session.origin.agent, session.origin.version].filter(Boolean).join(" ")),
    line("Id in the agent", session.origin?.sessionId),
    line(session.origin?.gone ? "Deleted file of the agent" : session.origin?.archived ? "Archived file of the agent" : "File of the agent", session.origin?.path),
    line("Forked from", session.parentPath ?? session.parentSessionId),
    line("Writes blocked", session.writeBlock?.message),
  ]
    .filter((each, index) => each !== "" || index === 1)
    .join("\n");
}

function joined(...parts: readonly string[]): string {
  return parts.filter(Boolean).join(" · ");
}
