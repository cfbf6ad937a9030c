// Automated sessions: a program gave their prompts, such as `claude -p` or `codex exec`. Lists count them and show them on
// request. Independent of VS Code.
import type { ListParams, ListResult, SessionOrigin } from "../protocol.ts";
import { count } from "./text.ts";

export function isAutomated({ origin }: { readonly origin: SessionOrigin | null }): boolean {
  return origin?.automated === true;
}

/** The row for sessions that a list hides. */
export function hiddenLabel(amount: number): string {
  return `${count(amount, "automated session")} hidden`;
}

/** The number of automated sessions in a list, on all of its pages. */
export async function countAutomated(
  list: (params: ListParams) => Promise<ListResult>,
  params: ListParams,
): Promise<number> {
  const { totalCount } = await list({ ...params, automated: true, limit: 1, withTotal: true });
  return totalCount ?? 0;
}
