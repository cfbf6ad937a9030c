// The space that sessions take, and what agents will delete, as a Markdown document.
import type { AgentStorage, LargeSession, StorageReportResult, StorageShare } from "../protocol.ts";
import { agePhrase, ago, code, count, oneLine, size } from "./text.ts";

const MAX_MONTHS = 12;

export interface StorageDocument {
  readonly text: string;
  /** The lines of sessions, counted from 0. */
  readonly sessions: readonly { readonly line: number; readonly sessionId: string }[];
}

/** `now` is in milliseconds. */
export function storageDocument(
  report: StorageReportResult,
  agents: readonly AgentStorage[],
  now: number,
): StorageDocument {
  const free = report.freeBytes === null ? "" : `, ${size(report.freeBytes)} free`;
  const more = report.projectCount - report.projects.length;
  const lines = [
    "# Storage",
    "",
    `${size(report.totalBytes)} in all${free}.`,
    "",
    ...table("Kind", "Files", report.kinds.filter((kind) => kind.count > 0)),
    ...table("Agent", "Sessions", report.agents),
    ...table("Project", "Sessions", report.projects),
    ...(more > 0 ? [`And ${count(more, "smaller project")}.`, ""] : []),
    ...table("Month", "Sessions", report.months.slice(0, MAX_MONTHS)),
    ...earlier(report.months.slice(MAX_MONTHS)),
    ...table("Folder of an agent", "Session files", agents.map(asShare)),
    ...agents.flatMap(deletionLines),
  ];
  if (report.sessions.length > 0) {
    lines.push("## Largest sessions", "");
  }
  const first = lines.length;
  lines.push(...report.sessions.map((session) => sessionLine(session, now)), "");
  return {
    text: lines.join("\n"),
    sessions: report.sessions.map(({ sessionId }, index) => ({ line: first + index, sessionId })),
  };
}

function asShare({ agent, title, fileCount, sessionBytes, otherBytes }: AgentStorage): StorageShare {
  return { key: agent, title, count: fileCount, sizeBytes: sessionBytes + otherBytes };
}

function earlier(months: readonly StorageShare[]): string[] {
  const bytes = months.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return months.length > 0 ? [`And ${size(bytes)} of ${count(months.length, "earlier month")}.`, ""] : [];
}

/** A table whose columns are also aligned as text. */
function table(name: string, counted: string, shares: readonly StorageShare[]): string[] {
  if (shares.length === 0) {
    return [];
  }
  const total = shares.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) || 1;
  const share = (sizeBytes: number): string => `${Math.round((100 * sizeBytes) / total)} %`;
  const rows = [
    [name, "Size", "Share", counted],
    ...shares.map((row) => [
      code(row.title || "no folder"),
      size(row.sizeBytes),
      share(row.sizeBytes),
      String(row.count),
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = ([first = "", ...others]: readonly string[]): string =>
    `| ${[first.padEnd(widths[0] ?? 0), ...others.map((cell, at) => cell.padStart(widths[at + 1] ?? 0))].join(" | ")} |`;
  const rule = `|${widths.map((width, column) => `${"-".repeat(width + 1)}${column === 0 ? "-" : ":"}`).join("|")}|`;
  const [heading = "", ...others] = rows.map(line);
  return [heading, rule, ...others, ""];
}

function deletionLines({ isFollowed, deletion }: AgentStorage): string[] {
  if (deletion === null) {
    return [];
  }
  const { message, remark, missing, missingCount } = deletion;
  const advice = missingCount > 0 && !isFollowed ? " To keep them: *sessiond: Follow Agents…*" : "";
  return [
    `${oneLine(message)}${advice}`,
    "",
    ...(remark ? [oneLine(remark), ""] : []),
    ...(missing.length > 0 ? [...missing.map((path) => `- ${code(path)}`), ""] : []),
  ];
}

function sessionLine(session: LargeSession, now: number): string {
  const facts = [
    size(session.logBytes + session.blobBytes),
    agePhrase(ago(session.updatedAt, now)),
    code(session.cwd || "no folder"),
    code(session.title ?? "no title"),
    code(session.sessionId),
  ];
  return `- ${facts.filter(Boolean).join(" · ")}`;
}
