// The texts of the board: one line for each session, escaped.
import { type BoardRow, type BoardState, STATES } from "./board.ts";
import { ago, fit, isolated, markdown, oneLine } from "./text.ts";
import { NARROW_TITLE_LENGTH, type SessionWords, sessionTooltip, sessionWords, titleOf } from "./words.ts";

const ICONS: Readonly<Record<BoardState, { id: string; color?: string }>> = {
  working: { id: "circle-filled", color: "charts.green" },
  waiting: { id: "comment", color: "charts.yellow" },
  stopped: { id: "circle-outline", color: "disabledForeground" },
  failed: { id: "error", color: "errorForeground" },
};

/**
 * The texts of a row. `project` is the name of its folder; `now` is in milliseconds. `added` distinguishes it from rows
 * that look the same.
 */
export function boardWords(row: BoardRow, project: string, now: number, added: readonly string[] = []): SessionWords {
  const { session, state } = row;
  const label = fit(titleOf(session), NARROW_TITLE_LENGTH);
  const when = ago(session.updatedAt, now);
  const agent = oneLine(session.origin?.agent);
  const parts = [...added.map(isolated), state, when, agent, oneLine(project), ...amounts(row), oneLine(row.lastWords)].filter(Boolean);
  return {
    label: isolated(label),
    description: parts.join(" · "),
    accessibleText: [label, ...parts].join(", "),
    icon: ICONS[state],
    context: sessionWords(session, false, now).context,
  };
}

/** A row as a Markdown tooltip. */
export function boardTooltip(row: BoardRow): string {
  const lines = [sessionTooltip(row.session), ...amounts(row).map((amount) => `- ${markdown(amount)}`)];
  return [...lines, "", markdown(oneLine(row.lastWords))].join("\n");
}

/** The number of sessions in each state, and the cost of all of them. */
export function boardSummary(rows: readonly BoardRow[]): string {
  const cost = rows.reduce((sum, row) => sum + (row.cost ?? 0), 0);
  const counts = STATES.map((state) => [rows.filter((row) => row.state === state).length, state] as const);
  const parts = counts.filter(([number]) => number > 0).map(([number, state]) => `${number} ${state}`);
  return [...parts, cost > 0 ? dollars(cost) : ""].filter(Boolean).join(", ");
}

function amounts({ tokens, cost }: BoardRow): string[] {
  return [tokens === null ? "" : `${amount(tokens)} tokens`, cost === null ? "" : dollars(cost)].filter(Boolean);
}

function amount(number: number): string {
  return number < 1000 ? String(number) : number < 1_000_000 ? `${Math.round(number / 1000)}k` : `${(number / 1_000_000).toFixed(1)}M`;
}

function dollars(cost: number): string {
  return `$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}`;
}
