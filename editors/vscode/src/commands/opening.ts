// Shows a session or an entry in the views and in its transcript.
import type { EntryTarget } from "../views/elements.ts";
import type { Views } from "./target.ts";

/** Show a session in the views, and its transcript if that is open. */
export async function openSession({ current, transcripts }: Views, sessionId: string): Promise<void> {
  await current.open({ sessionId });
  transcripts.showIfOpen(sessionId);
}

/** Reveal an entry in the Tree and in the transcript. */
export async function showInTree({ current, tree, transcripts }: Views, target: EntryTarget): Promise<void> {
  if (current.sessionId !== target.sessionId) {
    await current.open({ sessionId: target.sessionId });
  }
  await tree.focus();
  await tree.reveal(target.entryId);
  transcripts.show({ ...target, preserveFocus: true });
}
