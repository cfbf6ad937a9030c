// The labels of a session. Independent of VS Code.
import type { LabeledEntry, LabelsParams, LabelsResult } from "../protocol.ts";
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

/** The texts of a row. `now` is in milliseconds. */
export function labelWords(entry: LabeledEntry, now: number): LabelWords {
  const when = ago(entry.labeledAt, now);
  const label = oneLine(entry.label);
  return {
    label: isolated(label),
    description: [isolated(textOf(entry)), when].filter(Boolean).join(" · "),
    accessibleText: [label, roleOf(entry), textOf(entry), when && `labeled ${agePhrase(when)}`]
      .filter(Boolean)
      .join(", "),
    context: contextOf(entry),
  };
}
