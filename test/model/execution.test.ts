import t from 'tap';
import {
  executionStates,
  isCancellable,
  isFinal,
  isSettled,
  mayMove,
  type ExecutionStatus,
} from '../../src/model/execution.js';
import { aCancel, anExecution } from '../signals/an-execution.js';
import { cancellable, executionMoves, finalStates } from './contract-states.js';

const statuses = Object.keys(executionMoves) as ExecutionStatus[];
const isFinalIn = (status: string): boolean => finalStates.includes(status);

t.test('the states and their moves are the contract’s', async (t) => {
  t.strictSame(Object.keys(executionStates), statuses);
  for (const from of statuses) {
    const moves = executionMoves[from] ?? [];
    t.strictSame(executionStates[from].next, moves, from);
    t.equal(isFinal(from), isFinalIn(from), from);
    for (const to of statuses) t.equal(mayMove(from, to), moves.includes(to), `${from} → ${to}`);
  }
});

t.test('cancellable are orders that live at the terminal, or may', async (t) => {
  t.strictSame(
    statuses.filter((status) => isCancellable(anExecution(status))),
    cancellable,
  );
  t.equal(isCancellable(anExecution('unknown', { dispatchedAt: null })), false);
});

t.test('settled is what is final together with its cancel', async (t) => {
  for (const status of statuses) {
    t.equal(isSettled(anExecution(status)), isFinalIn(status));
    t.equal(isSettled(anExecution(status, { cancel: aCancel('pending') })), false);
    t.equal(isSettled(anExecution(status, { cancel: aCancel('too_late') })), isFinalIn(status));
  }
});
