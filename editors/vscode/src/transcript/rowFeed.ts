// Sends the rows of one session to a document: each row once, in order. Independent of VS Code.
//
// Only the feed knows the position of the document, and it has one request in flight at most. Later rows are requested
// after that. So the order in which responses and notifications arrive does not matter.
import type { After, ViewPageResult } from "../protocol.ts";

export interface FeedIO {
  /** Request the part after a position; the first part without one. */
  request(after: After | undefined): Promise<ViewPageResult>;
  /** Send a part to the document. `first` is the number of rows that were sent before. */
  send(part: ViewPageResult, first: number): void;
  /** The session could not be read. `update` tries again. */
  failed(error: unknown): void;
}

export class RowFeed {
  readonly #io: FeedIO;
  #sent = 0;
  #position: After | undefined;
  #busy = false;
  #again = false;
  #generation = 0;
  #begun = false;
  #complete = false;

  constructor(io: FeedIO) {
    this.#io = io;
  }

  /** Whether the document has had all rows of the session. */
  get isComplete(): boolean {
    return this.#complete;
  }

  /** The document is empty: begin with the first row. */
  begin(): void {
    this.#sent = 0;
    this.#position = undefined;
    this.#generation += 1;
    this.#begun = true;
    this.#complete = false;
    this.update();
  }

  /** There may be new rows. Does nothing before `begin`. */
  update(): void {
    if (!this.#begun) {
      return;
    }
    this.#again = true;
    if (!this.#busy) {
      void this.#run();
    }
  }

  /** The document was closed. */
  end(): void {
    this.#begun = false;
    this.#again = false;
    this.#complete = false;
    this.#generation += 1;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    while (this.#again) {
      this.#again = false;
      const generation = this.#generation;
      try {
        const part = await this.#io.request(this.#position);
        if (generation === this.#generation) {
          this.#send(part);
        }
      } catch (error) {
        if (generation === this.#generation) {
          this.#io.failed(error);
        }
      }
    }
    this.#busy = false;
  }

  #send(part: ViewPageResult): void {
    this.#io.send(part, this.#sent);
    this.#sent += part.rows.length;
    this.#complete ||= part.toSeq >= part.lastSeq;
    this.#again ||= part.toSeq < part.lastSeq && part.toSeq > (this.#position?.seq ?? 0);
    this.#position = { logId: part.logId, seq: part.toSeq };
  }
}
