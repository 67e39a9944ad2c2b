/**
 * Asks a terminal what it holds: sends a `snapshot` frame and waits for the `state_snapshot` event with its
 * id (section 8 of the contract). Owns the questions that are open; each ends with the answer, with its
 * connection or after `snapshotTimeoutMs`.
 */
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import { randomHex } from '../lib/ids.js';
import type { Source, SourceConnection } from './source.js';

/** How long a terminal may take to answer. */
export const snapshotTimeoutMs = 5_000;

/** `event`: the JSON text of the `state_snapshot` event, as the streams have it in their `data` line. */
export type SnapshotAnswer =
  | { readonly event: string; readonly failure?: undefined }
  | { readonly event?: undefined; readonly failure: 'terminal_unavailable' | 'terminal_timeout' };

interface Question {
  readonly connection: SourceConnection;
  readonly deadline: Deadline;
  readonly answer: (answer: SnapshotAnswer) => void;
}

const unavailable: SnapshotAnswer = { failure: 'terminal_unavailable' };
const timedOut: SnapshotAnswer = { failure: 'terminal_timeout' };

export class Snapshots {
  readonly #deadlines: Deadlines;
  readonly #open = new Map<string, Question>();

  constructor({ deadlines }: { readonly deadlines: Deadlines }) {
    this.#deadlines = deadlines;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Never rejects. A terminal that is not connected or lacks the capability is unavailable. */
  request(source: Source): Promise<SnapshotAnswer> {
    const { connection } = source;
    const canAnswer = source.capabilities.includes('snapshot');
    if (connection === undefined || !canAnswer) return Promise.resolve(unavailable);
    return new Promise((resolve) => {
      const snapshotId = `snp_${randomHex(8)}`;
      const deadline = this.#deadlines.after(snapshotTimeoutMs, () =>
        this.#settle(snapshotId, timedOut),
      );
      this.#open.set(snapshotId, { connection, deadline, answer: resolve });
      // A send that finds the buffer full closes the connection, and so has settled the question.
      if (!connection.send({ type: 'snapshot', snapshotId })) this.#settle(snapshotId, unavailable);
    });
  }

  /** A terminal has sent a `state_snapshot`; only the connection that was asked can answer. */
  published(connection: SourceConnection, snapshotId: unknown, event: string): void {
    if (typeof snapshotId !== 'string') return;
    if (this.#open.get(snapshotId)?.connection === connection) this.#settle(snapshotId, { event });
  }

  /** The connection has ended: its questions can get no answer. */
  closed(connection: SourceConnection): void {
    for (const [snapshotId, question] of this.#open) {
      if (question.connection === connection) this.#settle(snapshotId, unavailable);
    }
  }

  #settle(snapshotId: string, answer: SnapshotAnswer): void {
    const question = this.#open.get(snapshotId);
    if (question === undefined) return;
    this.#open.delete(snapshotId);
    this.#deadlines.remove(question.deadline);
    question.answer(answer);
  }
}
