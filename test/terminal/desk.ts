/** A plugin client at a fake gateway, with a terminal that notes what it is asked and reports nothing. */
import type { Test } from 'tap';
import type { Clock } from '../../src/lib/clock.js';
import { openJournal } from '../../src/terminal/journal-file.js';
import { Journal } from '../../src/terminal/journal.js';
import type { KnownExecution } from '../../src/terminal/journal-state.js';
import {
  createPluginClient,
  type ClientNotice,
  type PluginClient,
  type PluginClientOptions,
} from '../../src/terminal/plugin-client.js';
import type { SubmitFrame } from '../../src/plugins/protocol.js';
import { startFakeGateway, type FakeGateway } from '../support/fake-gateway.js';
import { Inbox } from '../support/inbox.js';
import { SimulatedClock } from '../support/simulated-clock.js';

export const source = { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' };
export const startTime = Date.UTC(2026, 0, 15, 12);

export interface Desk {
  readonly gateway: FakeGateway;
  readonly clock: SimulatedClock;
  readonly journal: Journal;
  readonly client: PluginClient;
  /** executionIds and cancelRequestIds that the terminal was asked to carry out, in order. */
  readonly asked: string[];
  readonly restored: KnownExecution[];
  readonly notices: Inbox<ClientNotice>;
  notice<K extends ClientNotice['kind']>(kind: K): Promise<Extract<ClientNotice, { kind: K }>>;
}

export interface DeskOptions extends Partial<PluginClientOptions> {
  readonly gateway?: FakeGateway;
}

/** The journal that a terminal has in this directory. */
export function journalIn(
  directory: string,
  clock: Clock = new SimulatedClock(startTime),
  of = source,
): Journal {
  return openJournal(directory, of, 'journal', (file) => new Journal(clock, file));
}

/** @returns a desk whose client is not started: the test starts it. */
export async function setUpDesk(t: Test, options: DeskOptions = {}): Promise<Desk> {
  const gateway = options.gateway ?? (await startFakeGateway());
  const clock = (options.clock as SimulatedClock | undefined) ?? new SimulatedClock(startTime);
  const journal = options.journal ?? new Journal(clock);
  const notices = new Inbox<ClientNotice>();
  const asked: string[] = [];
  const restored: KnownExecution[] = [];
  const client = createPluginClient({
    url: gateway.url,
    token: () => 'sbs_token',
    source,
    capabilities: ['submit', 'cancel', 'snapshot'],
    software: { name: 'test', version: '1' },
    clock,
    journal,
    random: () => 0,
    handler: {
      submit: ({ executionId }) => void asked.push(executionId),
      inDoubt: (_command, execute) => execute(),
      cancel: ({ cancelRequestId }) => void asked.push(cancelRequestId),
      snapshot: (snapshotId) => void asked.push(snapshotId),
      restore: (executions) => void restored.push(...executions),
      notice: (notice) => notices.put(notice),
    },
    ...options,
  });
  t.teardown(async () => {
    await client.stop();
    await gateway.close();
  });
  return {
    gateway,
    clock,
    journal,
    client,
    asked,
    restored,
    notices,
    notice: (kind) => notices.take((notice) => notice.kind === kind) as never,
  };
}

export function submitFrame(executionId: string, fields: Partial<SubmitFrame> = {}): SubmitFrame {
  return {
    type: 'submit',
    executionId,
    requestId: 'req_1',
    signalId: 'sig_1',
    orderRef: `ord_${executionId}`,
    signalType: 'order',
    cmd: 'submit',
    payload: { instrument: 'ES', side: 'buy', executionType: 'market', quantity: 2 },
    ts: startTime,
    expiresAt: new Date(startTime + 20_000).toISOString(),
    ...fields,
  };
}
