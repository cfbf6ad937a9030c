// The distinctions of rows that look the same, in a list from which a person chooses a session or an entry: the rule of
// protocol.md, "Rows that look the same".
import { fit, oneLine } from "./text.ts";
import type { Hit } from "../protocol.ts";
import type { KnownSession } from "./words.ts";

/** Limit of the characters that are shown of a fact. */
const MAX_PART = 30;
/** Limit of the characters before a difference that are shown for the sake of a whole word. */
const MAX_BACK = 12;
const SHORTEST_ID = 8;

/** Blanks, characters without ink, and the styles and skin colors of emoji. */
const UNSEEN =
  /[\s\p{Cc}\p{Cf}\u034f\u115f\u1160\u2800\ufe00-\ufe0f\u{1f3fb}-\u{1f3ff}\u{e0100}-\u{e01ef}]/gu;

export interface ComparedRow {
  /** The row without an addition, as the list shows it. */
  readonly shown: string;
  /** All rows have the same number of facts. One that a row lacks is empty. */
  readonly facts: readonly string[];
  readonly id: string;
}

/** The texts that each row shows in addition: none for a row that looks like no other one. */
export function distinctions(rows: readonly ComparedRow[]): string[][] {
  const added: string[][] = rows.map(() => []);
  const looks = rows.map(({ shown }) => look(shown));
  for (const group of groups([...rows.keys()], looks)) {
    distinguish(group, rows, added, 0);
    const shown = group.map((row) => look((added[row] as string[]).join("")));
    for (const same of groups(group, shown)) {
      // By different facts.
      const ids = shortIds(same.map((row) => (rows[row] as ComparedRow).id));
      if (groups(same, ids).length === 0) {
        same.forEach((row, place) => added[row]?.push(ids[place] as string));
      }
    }
  }
  return added;
}

type Facts = Pick<KnownSession, "title" | "firstPrompt" | "cwd" | "updatedAt"> & {
  readonly origin: Pick<NonNullable<KnownSession["origin"]>, "agent"> | null;
};

/** The facts of a session in the order in which they distinguish rows. */
export function sessionFacts(session: Facts, lastWords = ""): string[] {
  const folder = oneLine(session.cwd);
  const prompt = oneLine(session.firstPrompt);
  return [
    oneLine(session.title) || prompt,
    oneLine(session.origin?.agent),
    folder.replace(/\/+$/, "").split("/").at(-1) ?? "",
    folder,
    ...dayAndMinute(session.updatedAt),
    prompt,
    oneLine(lastWords),
  ];
}

/** The facts of a hit of a search. Copies of one entry, in forks, differ in their sessions only. */
export function hitFacts(hit: Hit): string[] {
  const [title = "", agent = "", name = "", folder = ""] = sessionFacts({ ...hit, updatedAt: "" });
  return [oneLine(hit.snippet), title, agent, name, folder, ...dayAndMinute(hit.timestamp ?? ""), oneLine(hit.sessionId)];
}

/** The date and the time of day of a timestamp, in local time; two empty texts if it is not valid. */
export function dayAndMinute(timestamp: string): [string, string] {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) {
    return ["", ""];
  }
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = [String(date.getFullYear()).padStart(4, "0"), two(date.getMonth() + 1), two(date.getDate())];
  return [day.join("-"), `${two(date.getHours())}:${two(date.getMinutes())}`];
}

/** Add to the rows of a group what differs, beginning with a fact. */
function distinguish(group: readonly number[], rows: readonly ComparedRow[], added: string[][], first: number): void {
  const members = group.map((row) => rows[row] as ComparedRow);
  const count = (members[0] as ComparedRow).facts.length;
  for (let at = first; at <= count; at += 1) {
    const texts = at < count ? parts(members.map(({ facts }) => facts[at] ?? "")) : shortIds(members.map(({ id }) => id));
    const looks = texts.map(look);
    if (new Set(looks).size > 1) {
      texts.forEach((text, place) => text !== "" && added[group[place] as number]?.push(text));
      // The fact may differ further on.
      groups(group, looks).forEach((smaller) => distinguish(smaller, rows, added, at));
      return;
    }
  }
}

/** The rows that look like others, together with these. */
function groups(rows: readonly number[], looks: readonly string[]): number[][] {
  const found = new Map<string, number[]>();
  rows.forEach((row, place) => {
    const group = found.get(looks[place] as string);
    if (group === undefined) {
      found.set(looks[place] as string, [row]);
    } else {
      group.push(row);
    }
  });
  return [...found.values()].filter(({ length }) => length > 1);
}

/** The part of each text that is shown: all of short texts, else from the word in which they differ. */
function parts(texts: readonly string[]): string[] {
  const split = texts.map((text) => Array.from(text));
  const [one = []] = split;
  if (split.every(({ length }) => length <= MAX_PART)) {
    return [...texts];
  }
  let same = 0;
  while (same < one.length && split.every((text) => text[same] === one[same])) {
    same += 1;
  }
  let begin = Math.max(one.slice(0, same).lastIndexOf(" "), one.slice(0, same).lastIndexOf("/")) + 1;
  if (same - begin > MAX_BACK) {
    begin = same;
  }
  return split.map((text) => {
    const rest = fit(text.slice(begin).join(""), MAX_PART);
    return rest !== "" && begin > 0 ? `…${rest}` : rest;
  });
}

/** The prefixes of ids: all as long as it takes to distinguish them. */
function shortIds(ids: readonly string[]): string[] {
  const different = new Set(ids);
  let length = SHORTEST_ID;
  while (new Set([...different].map((id) => id.slice(0, length))).size < different.size) {
    length += 1;
  }
  return ids.map((id) => oneLine(id.slice(0, length)));
}

/** The same text for texts that look the same. */
function look(text: string): string {
  return text.normalize("NFKC").replace(UNSEEN, "");
}
