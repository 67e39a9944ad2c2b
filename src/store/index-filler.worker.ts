/**
 * Program of the thread that fills the index: applies the frames of each message in one transaction and
 * answers with the position behind them, once that is durable, or with why it failed.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { errorText } from '../lib/error-text.js';
import { createApplyFrames, openIndex } from './lmdb-index.js';

/** `frames` lie in memory that both threads share. */
export type FillRequest =
  { readonly frames: readonly Uint8Array[]; readonly position: number } | 'end';
export type FillAnswer = { readonly position: number } | { readonly failure: string };

const root = openIndex(workerData as string);
const apply = createApplyFrames(root);

function fill({ frames, position }: Exclude<FillRequest, 'end'>): FillAnswer {
  try {
    apply(frames, position);
    return { position };
  } catch (error) {
    return { failure: errorText(error) };
  }
}

parentPort?.on('message', (request: FillRequest) => {
  if (request !== 'end') return parentPort?.postMessage(fill(request));
  void root.close().then(() => parentPort?.close());
});
