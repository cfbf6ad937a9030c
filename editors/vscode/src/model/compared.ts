// A comparison of two branches as a Markdown document.
import type { ComparedSide, CompareResult } from "../protocol.ts";
import { code, count, oneLine } from "./text.ts";

export function comparedDocument(compared: CompareResult): string {
  const { left, right, ancestorId } = compared;
  const row = (name: string, of: (side: ComparedSide) => string | number): string =>
    `| ${name} | ${of(left)} | ${of(right)} |`;
  return [
    `# ${code(name(left))} and ${code(name(right))}`,
    "",
    ancestorId === null
      ? "The two paths have no common entry."
      : `The two paths diverge after ${code(ancestorId)}. After that entry:`,
    "",
    `| | ${code(name(left))} | ${code(name(right))} |`,
    "|---|---|---|",
    row("Entries", ({ stats }) => stats.entryCount),
    row("Messages", ({ stats }) => stats.messageCount),
    row("Tool calls", ({ stats }) => stats.toolCallCount),
    row("Tool errors", ({ stats }) => stats.toolErrorCount),
    row("Tokens in a context (estimated)", ({ tokens }) => tokens),
    row("Tokens used", ({ stats }) => stats.tokens.total),
    row("Cost", ({ stats }) => stats.cost.total.toFixed(4)),
    row("Models", ({ stats }) => stats.models.map(({ model }) => code(model ?? "?")).join(", ")),
    "",
    ...files(left),
    ...files(right),
  ].join("\n");
}

/** The comparison in a sentence. */
export function comparedSentence({ left, right }: CompareResult): string {
  const amount = (side: ComparedSide): string =>
    `${count(side.stats.entryCount, "entry", "entries")} and about ${count(side.tokens, "token")}`;
  return `After their common entry, ${name(left)} has ${amount(left)}; ${name(right)} has ${amount(right)}.`;
}

function name(side: ComparedSide): string {
  return oneLine(side.leafId) || "?";
}

function files(side: ComparedSide): string[] {
  const list = (verb: string, paths: readonly string[], all: number): string[] => {
    if (paths.length === 0) {
      return [];
    }
    const more = all > paths.length ? [`- and ${count(all - paths.length, "file")} more`] : [];
    return [`## ${verb} by ${code(name(side))}`, "", ...paths.map((path) => `- ${code(path)}`), ...more, ""];
  };
  return [
    ...list("Changed", side.modifiedFiles, side.modifiedFileCount),
    ...list("Read", side.readFiles, side.readFileCount),
  ];
}
