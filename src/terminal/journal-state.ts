/** What a plugin knows of the commands and cancels that it has received, and how a report changes it. */
import { withoutUndefined } from '../lib/without-undefined.js';
import type { ReportableCancelStatus } from '../model/cancellation.js';
import { isFinal, type Fill, type ReportableStatus } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import type { Evidence, PluginFrameOf, SubmitFrame } from '../plugins/protocol.js';

type Native = NonNullable<Evidence['native']>;

export interface KnownExecution {
  readonly executionId: string;
  /** The received command; its payload is dropped once the execution is final. */
  readonly submit: SubmitFrame;
  readonly status: ReportableStatus;
  /** Whether the terminal has reported on it, and so has begun to execute it. */
  readonly isReported: boolean;
  readonly fills: readonly Fill[];
  readonly reasonCode?: ReasonCode;
  readonly filledQuantity?: number;
  readonly remainingQuantity?: number;
  readonly averageFillPrice?: number;
  readonly native?: Native;
  /** Unix milliseconds on the terminal's clock. */
  readonly updatedAt: number;
}

export interface KnownCancel {
  readonly cancelRequestId: string;
  readonly executionId: string;
  /** Undefined until the terminal reports on it. */
  readonly evidence: CancelEvidence | undefined;
  readonly updatedAt: number;
}

type CancelReport = PluginFrameOf<'cancel_report'>;

export interface CancelEvidence {
  readonly status: ReportableCancelStatus;
  readonly reasonCode?: ReasonCode;
  readonly native?: NonNullable<CancelReport['native']>;
}

/** The outcome of a cancel of an order that the terminal never had. */
export const unknownOrder: CancelEvidence = {
  status: 'rejected',
  reasonCode: 'order_unknown_at_terminal',
};

/** A report that is kept until it is acknowledged; its `seq` is assigned when it is first sent. */
export type ReportFrame = Omit<PluginFrameOf<'report'>, 'seq'> | Omit<CancelReport, 'seq'>;

/** @param at Unix milliseconds. */
export function afterReport(
  execution: KnownExecution,
  frame: Extract<ReportFrame, { type: 'report' }>,
  at: number,
): KnownExecution {
  const { fill } = frame;
  const isNewFill =
    fill !== undefined && !execution.fills.some(({ fillId }) => fillId === fill.fillId);
  const hasEnded = isFinal(frame.status);
  const { filledQuantity } = execution;
  const isFurther = isNewFill || (frame.filledQuantity ?? filledQuantity) !== filledQuantity;
  const { reasonCode: _reasonCode, native, ...lasting } = execution;
  return {
    ...(isFurther ? withoutRest(lasting) : lasting),
    ...evidenceOf({ ...frame, ...nativeAfter(native, frame.native) }),
    submit: hasEnded ? { ...execution.submit, payload: {} } : execution.submit,
    isReported: true,
    fills: isNewFill ? [...execution.fills, fill] : execution.fills,
    updatedAt: at,
  };
}

/** Remaining quantity and average price belong to a filled quantity: after a further fill they would be wrong. */
function withoutRest<E extends Partial<KnownExecution>>(
  execution: E,
): Omit<E, 'remainingQuantity' | 'averageFillPrice'> {
  const { remainingQuantity: _remaining, averageFillPrice: _average, ...rest } = execution;
  return rest;
}

/** The order's number and state persist; code and text, like the reason, belong to the report that has them. */
function nativeAfter(known: Native | undefined, told: Native | undefined): { native?: Native } {
  const { orderId, state } = { ...known, ...told };
  const native = withoutUndefined({ ...told, orderId, state });
  return Object.keys(native).length === 0 ? {} : { native };
}

/** @returns the state of an execution or a report, without the single fill. */
export function evidenceOf(known: KnownExecution | Evidence): Evidence {
  const { status, reasonCode, filledQuantity, remainingQuantity, averageFillPrice, native } = known;
  const told = { status, reasonCode, filledQuantity, remainingQuantity, averageFillPrice, native };
  return withoutUndefined(told);
}

export function afterCancelReport(
  cancel: KnownCancel,
  { status, reasonCode, native }: Extract<ReportFrame, { type: 'cancel_report' }>,
  at: number,
): KnownCancel {
  const evidence = withoutUndefined({ status, reasonCode, native });
  return { ...cancel, evidence, updatedAt: at };
}
