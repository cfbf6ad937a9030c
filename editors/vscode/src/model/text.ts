// Escapes text of transcripts for display. Text of users, models and tools is untrusted.

/** Escape sequences of terminals, as a whole, so that no `[31m` is left of them. */
const TERMINAL = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g;

/** What orders a reader about without being seen: controls, bidirectional and zero-width characters, tags. */
const HIDDEN =
  /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

const LONE_SURROGATE = /\p{Surrogate}/gu;

/** The text as one line: all space folded, nothing that is not seen. Anything but a string is an empty line. */
export function oneLine(text: unknown): string {
  if (typeof text !== "string") {
    return "";
  }
  return text
    .replace(TERMINAL, "")
    .replace(/\s+/g, " ")
    .replace(HIDDEN, "")
    .replace(LONE_SURROGATE, "\ufffd")
    .trim();
}

/** The text cut to so many characters (code points), with an ellipsis when it is longer. */
export function fit(text: string, most: number): string {
  if (text.length <= most) {
    return text;
  }
  const characters = Array.from(text);
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("").trimEnd()}…`;
}

/** The text as Markdown that shows it and does nothing else: no markup, no links, no images, no HTML. */
export function markdown(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The text as a code span of a Markdown document that people also read as it is; it may stand in a table. */
export function code(text: string): string {
  const line = oneLine(text).replace(/\|/g, "\u00a6"); // a table would end its cell there, even in code
  const longest = Math.max(0, ...Array.from(line.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const space = line === "" || longest > 0 ? " " : "";
  return `${fence}${space}${line}${space}${fence}`;
}

/** The text between fences that it cannot end. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}

/** The text for a message or a quick pick: VS Code would make links and icons of some of it. */
export function plain(text: string): string {
  return text.replace(/\]\(/g, "] (").replace(/\$\(/g, "\\$(");
}

/** Escapes text for notifications and prompts. They render links, including command links, but no icons. */
export function notificationText(text: string): string {
  return oneLine(text).replace(/\]\(/g, "] (");
}

const STEPS: readonly (readonly [number, string])[] = [
  [60, "s"],
  [60, "m"],
  [24, "h"],
  [30, "d"],
  [12, "mo"],
  [Infinity, "y"],
];

/** How long ago an ISO 8601 timestamp is, as `5m`; empty if it is not valid. `now` is in milliseconds. */
export function ago(timestamp: string | null | undefined, now: number): string {
  const then = Date.parse(timestamp ?? "");
  if (Number.isNaN(then)) {
    return "";
  }
  let amount = Math.floor((now - then) / 1000);
  if (amount < 60) {
    return "now";
  }
  for (const [size, unit] of STEPS) {
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

/** The sum of some counts by name. */
export function summed(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, amount) => sum + amount, 0);
}
