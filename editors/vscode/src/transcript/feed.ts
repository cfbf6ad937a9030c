// Brings the rows of one session to a document: every row once, in order, whatever happens meanwhile. Knows nothing of
// VS Code.
//
// Only this knows how far the document is, and only one request is under way; whatever comes then is asked for behind
// it. So it does not matter in which order requests and notifications cross each other.
import type { After, ViewPageResult } from "../protocol.ts";

export interface Ends {
  /** The next part behind a position; the first part without one. */
  ask(after: After | undefined): Promise<ViewPageResult>;
  /** Give the document a part, and how many rows it was given before. */
  give(part: ViewPageResult, first: number): void;
  /** The session could not be read; `wake` tries again. */
  failed(error: unknown): void;
}

export class Feed {
  readonly #ends: Ends;
  #given = 0;
  #position: After | undefined;
  #busy = false;
  #again = false;
  #beginnings = 0;
  #begun = false;

  constructor(ends: Ends) {
    this.#ends = ends;
  }

  /** The document has nothing: begin with the first row. */
  begin(): void {
    this.#given = 0;
    this.#position = undefined;
    this.#beginnings += 1;
    this.#begun = true;
    this.wake();
  }

  /** Something may be new. Before the document has asked for anything, nothing is. */
  wake(): void {
    if (!this.#begun) {
      return;
    }
    this.#again = true;
    if (!this.#busy) {
      void this.#run();
    }
  }

  /** The document is gone. */
  end(): void {
    this.#begun = false;
    this.#again = false;
    this.#beginnings += 1;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    while (this.#again) {
      this.#again = false;
      const beginning = this.#beginnings;
      try {
        const part = await this.#ends.ask(this.#position);
        if (beginning === this.#beginnings) {
          this.#take(part);
        }
      } catch (error) {
        if (beginning === this.#beginnings) {
          this.#ends.failed(error);
        }
      }
    }
    this.#busy = false;
  }

  #take(part: ViewPageResult): void {
    this.#ends.give(part, this.#given);
    this.#given += part.rows.length;
    this.#again ||= part.toSeq < part.lastSeq && part.toSeq > (this.#position?.seq ?? 0);
    this.#position = { logId: part.logId, seq: part.toSeq };
  }
}
