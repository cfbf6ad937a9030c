// The context that a model receives, and the entries that are not in it, as a Markdown document.
import type { ContextResult } from "../protocol.ts";
import { code, fenced } from "./text.ts";

export function contextDocument(context: ContextResult): string {
  const explanation = context.explanation ?? [];
  const omitted = explanation.filter(({ fate }) => fate === "out");
  const reasons = new Map(explanation.map((each) => [each.entryId, each]));
  const inline = (text: unknown): string => code(String(text));
  const lines = [
    "# Context",
    "",
    `- Leaf: ${inline(context.leafId ?? "none")}`,
    `- Tokens: ${context.tokensEstimated ? "about " : ""}${context.tokens}`,
    `- Thinking level: ${inline(context.thinkingLevel)}`,
    ...Object.entries(context.models).map(([role, model]) => `- Model (${inline(role)}): ${inline(model)}`),
    "",
  ];
  context.messages.forEach(({ entryId, message }) => {
    const changed = reasons.get(entryId);
    lines.push(
      `## ${inline(message["role"])} · ${inline(entryId)}`,
      "",
      ...(changed?.fate === "changed" ? [inline(changed.message), ""] : []),
      fenced(textOf(message)),
      "",
    );
  });
  if (omitted.length > 0) {
    lines.push("## Left out", "", ...omitted.map((each) => `- ${inline(each.entryId)}: ${inline(each.message)}`), "");
  }
  return lines.join("\n");
}

/** The text of a message; other content as JSON. */
function textOf(message: Readonly<Record<string, unknown>>): string {
  const content = message["content"];
  if (typeof content === "string") {
    return content;
  }
  if (!Array.isArray(content)) {
    return JSON.stringify(message, null, 2);
  }
  return content
    .map((block: unknown) => {
      const text = (block as { text?: unknown } | null)?.text;
      return typeof text === "string" ? text : JSON.stringify(block, null, 2);
    })
    .join("\n\n");
}

/** The stored text of an entry. */
export function entryText(entry: Readonly<Record<string, unknown>>): string {
  const message = entry["message"] as { content?: unknown } | undefined;
  const content = message?.content ?? entry["content"] ?? entry["summary"] ?? "";
  if (typeof content === "string") {
    return content;
  }
  const blocks = Array.isArray(content) ? content : [];
  return blocks
    .map((block: unknown) => (block as { text?: unknown } | null)?.text)
    .filter((text) => typeof text === "string")
    .join("\n");
}
