/** A paper broker on a simulated clock that keeps what it reports. */
import type { Evidence } from '../../src/plugins/protocol.js';
import type { CancelEvidence } from '../../src/terminal/journal-state.js';
import { createPaperBroker, type PaperBrokerOptions } from '../../src/terminal/paper-broker.js';
import type { TerminalEventDraft } from '../../src/terminal/terminal-event.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { submitFrame } from './desk.js';

export function setUpPaper(options: Partial<PaperBrokerOptions> = {}) {
  const clock = new SimulatedClock();
  const reports: (Evidence & { executionId: string })[] = [];
  const cancels: (CancelEvidence & { cancelRequestId: string })[] = [];
  const events: TerminalEventDraft[] = [];
  const broker = createPaperBroker({
    clock,
    listener: {
      report: (executionId, evidence) => void reports.push({ executionId, ...evidence }),
      cancelReport: (cancelRequestId, evidence) =>
        void cancels.push({ cancelRequestId, ...evidence }),
      event: (event) => void events.push(event),
    },
    ...options,
  });
  let count = 0;
  const send = (signalType: string, cmd: string, payload: object): string => {
    const { executionId, orderRef, ...rest } = submitFrame(`exe_${++count}`);
    const isOrder = signalType === 'order' && cmd === 'submit';
    broker.submit({
      ...rest,
      executionId,
      ...(isOrder ? { orderRef } : {}),
      signalType,
      cmd,
      payload: payload as Record<string, unknown>,
    });
    return executionId;
  };
  return {
    broker,
    clock,
    reports,
    cancels,
    events,
    send,
    order: (fields: object = {}) => send('order', 'submit', { ...market, ...fields }),
    statusesOf: (executionId: string) =>
      reports.filter((report) => report.executionId === executionId).map(({ status }) => status),
    dataOf: (name: string) =>
      events
        .filter(({ event }) => event === name)
        .map(({ data }) => data as Record<string, unknown>),
  };
}

export const market = { instrument: 'ES', side: 'buy', executionType: 'market', quantity: 2 };
export const limit = { executionType: 'limit', limitPrice: 4_990 };
