/** Performs an operation for a command and turns its result into an outcome. */
import { type NotPerformed, perform } from '../admin/client.js';
import type { Refusal } from '../admin/operation.js';
import type { RowSource } from '../admin/conversation.js';
import type { ResultOf } from '../admin/operations.js';
import type { OperationName, RequestOf } from '../admin/requests.js';
import type { Settings } from '../settings.js';
import { type Outcome, warnTo } from './command.js';
import type { Io } from './io.js';
import { refusalOutcome } from './refusals.js';

/** The result of an operation that is not refused. */
type ValueOf<N extends OperationName> = Exclude<ResultOf<N>, { readonly refused: string }>;

/** @param tell makes the outcome of an operation that was done, also from the rows that it sent, unless `onRow` took them. */
export async function operate<N extends OperationName>(
  io: Io,
  settings: Settings,
  name: N,
  request: RequestOf<N>,
  tell: (value: ValueOf<N>, received: readonly unknown[]) => Outcome,
  rows: RowSource = {},
): Promise<Outcome> {
  const received: unknown[] = [];
  const onRow = (row: unknown): void => void received.push(row);
  const result: object = await perform(settings, name, request, {
    onRow,
    ...rows,
    warn: warnTo(io),
  });
  if ('refused' in result) return refusalOutcome(result as Refusal | NotPerformed);
  return tell(result as ValueOf<N>, received);
}
