// Escapes text of transcripts for display. Text of users, models and tools is untrusted.

/** Complete escape sequences of terminals, so that no `[31m` remains. */
const TERMINAL = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g;

/** Invisible characters: controls, bidirectional and zero-width characters, tags. */
const INVISIBLE =
  /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

const LONE_SURROGATE = /\p{Surrogate}/gu;

/** The text as one line, with single spaces and without invisible characters. Empty for a value that is not a string. */
export function oneLine(text: unknown): string {
  if (typeof text !== "string") {
    return "";
  }
  return text
    .replace(TERMINAL, "")
    .replace(/\s+/g, " ")
    .replace(INVISIBLE, "")
    .replace(LONE_SURROGATE, "\ufffd")
    .trim();
}

/** The text cut to a number of code points, with an ellipsis if it is longer. */
export function fit(text: string, maxLength: number): string {
  if (text.length <= maxLength) {
    return text;
  }
  const characters = Array.from(text);
  return characters.length <= maxLength ? text : `${characters.slice(0, maxLength - 1).join("").trimEnd()}…`;
}

/** Characters of scripts that are written from the right. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** The text, isolated if it has words from the right: otherwise they would be mixed with what the row shows after it. */
export function isolated(text: string): string {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

/** The text escaped for Markdown: no markup, no links, no images, no HTML. */
export function markdown(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The text as a code span of a Markdown document. It may be in a table. */
export function code(text: string): string {
  const line = oneLine(text).replace(/\|/g, "\u00a6"); // in a table, it would end the cell, even in code
  const longest = Math.max(0, ...Array.from(line.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const space = line === "" || longest > 0 ? " " : "";
  return `${fence}${space}${line}${space}${fence}`;
}

/** The text as a fenced block that it cannot close. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}

/** Escapes text for quick picks, which render links and icons. */
export function quickPickText(text: string): string {
  return text.replace(/\]\(/g, "] (").replace(/\$\(/g, "\\$(");
}

/** Escapes text for notifications and prompts. They render links, including command links, but no icons. */
export function notificationText(text: string): string {
  return oneLine(text).replace(/\]\(/g, "] (");
}

const UNITS: readonly (readonly [number, string])[] = [
  [60, "s"],
  [60, "m"],
  [24, "h"],
  [30, "d"],
  [12, "mo"],
  [Infinity, "y"],
];

/** The age of an ISO 8601 timestamp, as `5m`; empty if it is not valid. `now` is in milliseconds. */
export function ago(timestamp: string | null | undefined, now: number): string {
  const then = Date.parse(timestamp ?? "");
  if (Number.isNaN(then)) {
    return "";
  }
  let amount = Math.floor((now - then) / 1000);
  if (amount < 60) {
    return "now";
  }
  for (const [size, unit] of UNITS) {
    if (amount < size) {
      return `${amount}${unit}`;
    }
    amount = Math.floor(amount / size);
  }
  return "";
}

/** `1 entry`, `2 entries`. */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount} ${amount === 1 ? one : many}`;
}

/** Bytes with a decimal unit: `812 B`, `1.4 MB`. */
export function size(bytes: number): string {
  if (bytes < 1000) {
    return `${bytes} B`;
  }
  let amount = bytes;
  for (const unit of ["kB", "MB", "GB"]) {
    amount /= 1000;
    if (amount < 999.5) {
      return `${amount.toFixed(amount < 9.95 ? 1 : 0)} ${unit}`;
    }
  }
  return `${(amount / 1000).toFixed(1)} TB`;
}

/** An age of `ago` in a sentence: "2h ago"; "now" and "" stay. */
export function agePhrase(age: string): string {
  return age === "" || age === "now" ? age : `${age} ago`;
}

/** The sum of some counts by name. */
export function summed(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, amount) => sum + amount, 0);
}
