/** Frames of a plugin, and waiting until the gateway has them on disk. */
import type { Plugin } from './plugin.js';

/** Sends a numbered frame and waits until the gateway says that it is on disk. */
export async function tell(plugin: Plugin, frame: { readonly seq: number }): Promise<void> {
  plugin.send(frame);
  await acknowledged(plugin, frame.seq);
}

/** Acknowledgements are cumulative: any at or above `seq` will do. */
export async function acknowledged(plugin: Plugin, seq: number): Promise<void> {
  while ((await plugin.next('ack'))['seq'] < seq);
}

export function report(seq: number, executionId: string, status: string, fields: object = {}) {
  return { type: 'report', seq, executionId, status, ...fields };
}

export function cancelReport(
  seq: number,
  cancelRequestId: string,
  status: string,
  fields: object = {},
) {
  return { type: 'cancel_report', seq, cancelRequestId, status, ...fields };
}

export function event(seq: number, fields: object = {}) {
  return {
    type: 'event',
    seq,
    event: 'terminal_message',
    data: { text: `word ${seq}` },
    ...fields,
  };
}

let barriers = 1_000;

/** Waits until everything that the gateway sent before it handled this frame is in `frames`. */
export function barrier(plugin: Plugin, seq = ++barriers): Promise<void> {
  return tell(plugin, event(seq));
}
