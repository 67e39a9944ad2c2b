/**
 * Trades under what venues leave out and repeat: CumQty, LeavesQty and AvgPx whole, absent, 0 or only now and then,
 * reports that come again or late, ExecIDs that begin anew. The gateway counts each trade once, and the order ends as
 * it did.
 */
import fc from 'fast-check';
import t from 'tap';
import { tags, types } from '../../src/fix/tags.js';
import type { Field } from '../../src/fix/message.js';
import { assert } from '../../src/lib/assert.js';
import { toExecutionReport } from '../../src/plugins/evidence.js';
import { report } from '../../src/signals/moves.js';
import { evidenceOf, type KnownExecution } from '../../src/terminal/journal-state.js';
import type { Evidence } from '../../src/terminal/plugin.js';
import { anExecution } from '../signals/an-execution.js';
import { limitOrder, MemoryDesk } from './memory-desk.js';

const id = 'exe_01KGA2M5000000000000000001_0';
const priceOf = (trade: number): number => 1 + trade / 8;
const open = 50;

/** ExecType and OrdStatus of the end, and what the gateway calls it. */
const ends = {
  none: [undefined, 'partially_filled'],
  whole: [undefined, 'filled'],
  cancelled: ['4', 'cancelled'],
  expired: ['C', 'expired'],
  rejected: ['8', 'cancelled'],
} as const;

interface Life {
  readonly trades: readonly number[];
  readonly says: 'all' | 'nothing' | 'zeros' | 'sometimes';
  readonly end: keyof typeof ends;
  /** ExecIDs begin anew after every second trade. */
  readonly hasDays: boolean;
  /** Where reports are repeated. */
  readonly repeats: readonly number[];
  /** The end comes so many reports too early; not that of a refusal, which is definitive. */
  readonly isEarly: boolean;
  /** PendingCancel goes before what else the OrdStatus of a trade may say. */
  readonly isCancelPending: boolean;
}

const lives = fc.record<Life>({
  trades: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
  says: fc.constantFrom('all', 'nothing', 'zeros', 'sometimes'),
  end: fc.constantFrom(...(Object.keys(ends) as Life['end'][])),
  hasDays: fc.boolean(),
  repeats: fc.array(fc.nat(20), { maxLength: 12 }),
  isEarly: fc.boolean(),
  isCancelPending: fc.boolean(),
});

/** What the venue sends, in the order in which it comes. */
function reportsOf(life: Life, quantity: number): Field[][] {
  const { trades, says, end, hasDays, repeats, isEarly, isCancelPending } = life;
  const amounts = (left: number): Field[] =>
    says === 'nothing'
      ? []
      : [
          [tags.CumQty, says === 'zeros' ? '0' : `${cumQty}`],
          [tags.LeavesQty, says === 'zeros' ? '0' : `${left}`],
          [tags.AvgPx, says === 'zeros' || cumQty === 0 ? '0' : `${value / cumQty}`],
        ];
  const withheld: readonly number[] = [tags.CumQty, tags.LeavesQty, tags.AvgPx];
  // Without a CumQty nothing but the ExecID tells a trade from a repetition.
  const days = hasDays && says === 'all' ? 2 : trades.length;
  const [status] = ends[end];
  const endsAt = isEarly && end !== 'rejected' && days > 2 ? trades.length >> 1 : trades.length;
  let cumQty = 0;
  let value = 0;
  const reports: Field[][] = [];
  for (let at = 0; at <= trades.length; at++) {
    if (at === endsAt && status !== undefined) {
      reports.push([
        [tags.ExecID, 'X'],
        [tags.ExecType, status],
        [tags.OrdStatus, status],
        ...amounts(0),
      ]);
    }
    const traded = trades[at];
    if (traded === undefined) break;
    cumQty += traded;
    value += traded * priceOf(at);
    reports.push([
      [tags.ExecID, `E${at % days}`],
      [tags.ExecType, 'F'],
      [tags.OrdStatus, isCancelPending ? '6' : cumQty === quantity ? '2' : '1'],
      ...amounts(quantity - cumQty),
      [tags.LastQty, `${traded}`],
      [tags.LastPx, `${priceOf(at)}`],
    ]);
  }
  const came = [...reports];
  for (const repeat of repeats) {
    const at = 1 + (repeat % came.length);
    came.splice(at, 0, came[repeat % at] as Field[]);
  }
  if (says !== 'sometimes') return came;
  return came.map((fields, at) =>
    at % 2 === 0 ? fields : fields.filter(([tag]) => !withheld.includes(tag)),
  );
}

t.test('each trade counts once, whatever a venue leaves out or repeats', async () => {
  fc.assert(
    fc.property(lives, (life) => {
      const traded = life.trades.reduce((sum, each) => sum + each, 0);
      const quantity = life.end === 'whole' ? traded : traded + open;
      const desk = new MemoryDesk();
      let execution = anExecution('submitted', { quantity, remainingQuantity: null });
      desk.onReport = (evidence: Evidence) => {
        const move = report(toExecutionReport(evidence), 10_000);
        execution = move(execution, desk.clock.now()) ?? execution;
      };
      desk.submit(id, { ...limitOrder, quantity });
      for (const fields of reportsOf(life, quantity)) {
        const named: Field[] = [[tags.ClOrdID, id.slice(4)], [tags.OrderID, 'V1'], ...fields];
        desk.desk.received({ beginString: 'FIX.4.4', type: types.ExecutionReport, fields: named });
      }
      // As after a lost connection to the gateway, or for a command that it sends again.
      desk.onReport(evidenceOf(desk.plugin.execution(id) as KnownExecution));
      const { status, filledQuantity, remainingQuantity, averageFillPrice, fills } = execution;
      const listed = fills.reduce((sum, fill) => sum + fill.quantity, 0);
      assert(listed === traded && filledQuantity === traded, `${listed}, ${filledQuantity} filled`);
      const value = life.trades.reduce((sum, each, at) => sum + each * priceOf(at), 0);
      assert(Math.abs((averageFillPrice ?? 0) - value / traded) < 1e-9, `at ${averageFillPrice}`);
      assert(status === ends[life.end][1], `${status} at the end`);
      assert(life.end !== 'none' || remainingQuantity === open, `${remainingQuantity} is open`);
    }),
  );
});
