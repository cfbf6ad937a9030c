// The labels of a session. Independent of VS Code.
import type { LabeledEntry, LabelsParams, LabelsResult } from "../protocol.ts";
import { dayAndMinute, distinctions } from "./distinctions.ts";
import { agePhrase, ago, isolated, oneLine } from "./text.ts";
import { contextOf, roleOf, textOf } from "./words.ts";

/** All labeled entries of a session, in log order. */
export async function readLabels(
  ask: (params: LabelsParams) => Promise<LabelsResult>,
  sessionId: string,
): Promise<LabeledEntry[]> {
  const entries: LabeledEntry[] = [];
  let cursor: string | null = null;
  do {
    const page: LabelsResult = await ask({ sessionId, ...(cursor === null ? {} : { cursor }) });
    entries.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return entries;
}

export interface LabelWords {
  readonly label: string;
  readonly description: string;
  /** The label for screen readers. */
  readonly accessibleText: string;
  /** The context value of the row, for the conditions of menus. */
  readonly context: string;
}

/** The distinctions of rows that look the same. */
export function labelDistinctions(entries: readonly LabeledEntry[], now: number): string[][] {
  return distinctions(
    entries.map((entry) => {
      const { label, description } = labelWords(entry, now);
      return { shown: `${label} ${description}`, facts: dayAndMinute(entry.labeledAt ?? ""), id: entry.entryId };
    }),
  );
}

/** The texts of a row. `now` is in milliseconds. `added` distinguishes it from rows that look the same. */
export function labelWords(entry: LabeledEntry, now: number, added: readonly string[] = []): LabelWords {
  const when = ago(entry.labeledAt, now);
  const label = oneLine(entry.label);
  return {
    label: isolated(label),
    description: [...added, isolated(textOf(entry)), when].filter(Boolean).join(" · "),
    accessibleText: [label, ...added, roleOf(entry), textOf(entry), when && `labeled ${agePhrase(when)}`]
      .filter(Boolean)
      .join(", "),
    context: contextOf(entry),
  };
}
