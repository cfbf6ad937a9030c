// What a model would see, and would not, as a Markdown document.
import type { ContextResult } from "../protocol.ts";
import { code, fenced } from "./text.ts";

export function contextDocument(context: ContextResult): string {
  const explanation = context.explanation ?? [];
  const out = explanation.filter(({ fate }) => fate === "out");
  const reasons = new Map(explanation.map((each) => [each.entryId, each]));
  const told = (text: unknown): string => code(String(text));
  const lines = [
    "# Context",
    "",
    `- Leaf: ${told(context.leafId ?? "none")}`,
    `- Tokens: ${context.tokensEstimated ? "about " : ""}${context.tokens}`,
    `- Thinking level: ${told(context.thinkingLevel)}`,
    ...Object.entries(context.models).map(([role, model]) => `- Model (${told(role)}): ${told(model)}`),
    "",
  ];
  context.messages.forEach(({ entryId, message }) => {
    const changed = reasons.get(entryId);
    lines.push(
      `## ${told(message["role"])} · ${told(entryId)}`,
      "",
      ...(changed?.fate === "changed" ? [told(changed.message), ""] : []),
      fenced(saidIn(message)),
      "",
    );
  });
  if (out.length > 0) {
    lines.push("## Left out", "", ...out.map((each) => `- ${told(each.entryId)}: ${told(each.message)}`), "");
  }
  return lines.join("\n");
}

/** The words of a message; what else it has as JSON. */
function saidIn(message: Readonly<Record<string, unknown>>): string {
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

/** The words of an entry as stored, without what a document has around them. */
export function wordsOf(entry: Readonly<Record<string, unknown>>): string {
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
