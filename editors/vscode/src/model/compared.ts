// A comparison of two branches as a Markdown document.
import type { Branch, CompareResult } from "../protocol.ts";
import { code, count, oneLine } from "./text.ts";

export function comparedDocument(compared: CompareResult): string {
  const { left, right, ancestorId } = compared;
  const row = (name: string, of: (branch: Branch) => string | number): string =>
    `| ${name} | ${of(left)} | ${of(right)} |`;
  return [
    `# ${code(name(left))} and ${code(name(right))}`,
    "",
    ancestorId === null
      ? "The two paths begin apart."
      : `The two paths part at ${code(ancestorId)}. From there on:`,
    "",
    `| | ${code(name(left))} | ${code(name(right))} |`,
    "|---|---|---|",
    row("Entries", ({ stats }) => stats.entries),
    row("Messages", ({ stats }) => summed(stats.messages)),
    row("Tool calls", ({ stats }) => stats.toolCalls),
    row("Tool errors", ({ stats }) => stats.toolErrors),
    row("Tokens in a context (estimated)", ({ tokens }) => tokens),
    row("Tokens used", ({ stats }) => stats.tokens.total),
    row("Cost", ({ stats }) => stats.cost.total.toFixed(4)),
    row("Models", ({ stats }) => stats.models.map(({ model }) => code(model ?? "?")).join(", ")),
    "",
    ...files(left),
    ...files(right),
  ].join("\n");
}

/** The same in a sentence. */
export function comparedSentence({ left, right }: CompareResult): string {
  const side = (branch: Branch): string =>
    `${count(branch.stats.entries, "entry", "entries")} and about ${count(branch.tokens, "token")}`;
  return `Since they parted, ${name(left)} has ${side(left)}; ${name(right)} has ${side(right)}.`;
}

function name(branch: Branch): string {
  return oneLine(branch.leafId) || "?";
}

function summed(amounts: Readonly<Record<string, number>>): number {
  return Object.values(amounts).reduce((sum, amount) => sum + amount, 0);
}

function files(branch: Branch): string[] {
  const list = (verb: string, paths: readonly string[]): string[] =>
    paths.length === 0 ? [] : [`## ${verb} by ${code(name(branch))}`, "", ...paths.map((path) => `- ${code(path)}`), ""];
  return [...list("Changed", branch.modifiedFiles), ...list("Read", branch.readFiles)];
}
