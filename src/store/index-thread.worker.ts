/**
 * Program of the thread that writes to the index: applies the frames of a message, or lets the sweeper work
 * through a slice, in one transaction, and answers once that is durable, or with why it failed.
 */
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { errorText } from '../lib/error-text.js';
import { stirFreePages } from './free-pages.js';
import { createIndexWriter } from './index-writer.js';
import { assertHolds, createApplyFrames, openDatabases, openIndex } from './lmdb-index.js';
import type { Sweeper } from './store.js';
import { type ExitGuard, runGuarded } from './exit-guard.js';
import type { RemovedKeys, SweepOrder, Swept } from './sweeper.js';

export interface IndexThreadData {
  readonly directory: string;
  /** URL of the module that exports `createSweeper`, when there will be sweeps. */
  readonly sweeper: string | undefined;
  /** The index holds everything before it. */
  readonly position: number;
  readonly guard: ExitGuard;
}

/** `frames` lie in memory that both threads share. */
export type IndexRequest =
  | { readonly frames: readonly Uint8Array[]; readonly position: number }
  | { readonly sweep: SweepOrder }
  | 'end';
export type IndexAnswer =
  | { readonly position: number }
  | { readonly swept: Swept; readonly removed: RemovedKeys }
  | { readonly failure: string };

const { directory, sweeper, guard, ...data } = workerData as IndexThreadData;
// Guarded, since a database is opened in a transaction.
const { root, apply, databases } = runGuarded(guard, open);
const index = createIndexWriter(databases);
const sweep = sweeper === undefined ? undefined : await load(sweeper);

function open() {
  const root = openIndex(directory);
  return { root, apply: createApplyFrames(root), databases: openDatabases(root) };
}

async function load(url: string): Promise<Sweeper> {
  const module = (await import(url)) as { createSweeper: () => Sweeper };
  return module.createSweeper();
}

let { position } = data;
/** Whether the last request failed: it is tried again, and could fail for the same free pages. */
let hasFailed = false;

function perform(request: Exclude<IndexRequest, 'end'>): IndexAnswer {
  if (hasFailed) stirFreePages(root);
  if ('frames' in request) {
    apply(request.frames, request.position);
    position = request.position;
    return { position };
  }
  if (sweep === undefined) return { failure: 'there is no sweeper' };
  const swept = root.transactionSync(() => {
    assertHolds(databases.meta, position);
    return sweep(index.records, request.sweep);
  });
  return { swept, removed: index.removed() };
}

function answerTo(request: Exclude<IndexRequest, 'end'>): IndexAnswer {
  try {
    const answer = runGuarded(guard, () => perform(request));
    hasFailed = false;
    return answer;
  } catch (error) {
    hasFailed = true;
    index.removed();
    const failure = errorText(error);
    if (failure.includes('Attempting to write page')) endLineOfLmdb();
    return { failure };
  }
}

/** lmdb has written to standard error without a newline: the next line of the log would be no JSON. */
function endLineOfLmdb(): void {
  try {
    writeSync(2, '\n');
  } catch {
    // Standard error is closed.
  }
}

parentPort?.on('message', (request: IndexRequest) => {
  if (request !== 'end') return parentPort?.postMessage(answerTo(request));
  void root.close().then(() => parentPort?.close());
});
