/**
 * The fixture of the targets `plugins` and `readers`: a gateway, the attacking user, and a bystander
 * with a terminal, a stream and orders of its own, which must not be affected. Lives for one target.
 */
import { dayMs } from '../../../src/lib/durations.js';
import { bearer, call, signal, status, submit } from '../../support/api.js';
import { openReader, type EventReader } from '../../support/event-reader.js';
import { eventually } from '../../support/eventually.js';
import { openPlugin, type Plugin } from '../../support/plugin.js';
import { FuzzedGateway, type Member } from './fuzzed-gateway.js';
import type { FuzzRun } from './target.js';
import { withDeadline } from './deadline.js';
import { TenantIsolation } from './tenant-isolation.js';

/**
 * Timeouts longer than any run, so that only frames change an execution, and limits above what the inputs
 * send. The target `floods` has the shipped limits of plugins.
 */
const limits = {
  loginAttemptsPerMinute: 1_000_000,
  unauthenticatedAttemptsPerMinute: 1_000_000,
  keyRequestsPerMinute: 1_000_000,
  cancelAllsPerMinute: 1_000_000,
  executionConfirmTimeoutMs: dayMs,
  cancelConfirmTimeoutMs: dayMs,
  heartbeatWindowMs: dayMs,
  pluginFramesPerSecond: 1_000_000,
  pluginBytesPerSecond: 1_073_741_824,
  pluginConnectionsPerUser: 100_000,
  sourcesPerUser: 100_000,
};

/** The longest allowed. */
export const signalTtlMs = 300_000;

const attackerEmail = 'attacker@example.com';
const bystanderEmail = 'bystander@example.com';
/** Open orders of the bystander, which the attacker's frames name. */
const restingOrders = 3;

export interface OrderHeld {
  readonly requestId: string;
  readonly executionId: string;
  readonly orderRef: string;
}

export class TestBed {
  readonly isolation: TenantIsolation;
  readonly attacker: Member;
  readonly bystander: Member;
  /** Open orders of the bystander. */
  readonly held: OrderHeld[] = [];
  #terminal!: Plugin;
  #reader!: EventReader;
  #before!: unknown[];
  #seq = 0;
  #read = 0;
  #signals = 0;

  private constructor(
    readonly run: FuzzRun,
    readonly gateway: FuzzedGateway,
    attacker: Member,
    bystander: Member,
  ) {
    this.isolation = new TenantIsolation(run.verdict);
    this.attacker = attacker;
    this.bystander = bystander;
  }

  static async open(
    run: FuzzRun,
    name: string,
    further: Readonly<Record<string, number>> = {},
  ): Promise<TestBed> {
    const emails = [attackerEmail, bystanderEmail];
    const gateway = await FuzzedGateway.open(run, name, emails, { ...limits, ...further });
    const [attacker, bystander] = [
      await gateway.member(attackerEmail),
      await gateway.member(bystanderEmail),
    ];
    const bed = new TestBed(run, gateway, attacker, bystander);
    await bed.#settle();
    return bed;
  }

  get url(): string {
    return this.gateway.url;
  }

  /** Submits a signal with marked values; throws unless it is accepted. @returns its requestId. */
  async submit(member: Member, fields: object = {}, payload: object = {}): Promise<string> {
    const mark = this.isolation.markOf(member.email);
    const body = signal({
      signalId: `${mark}-${++this.#signals}`,
      ttlMs: signalTtlMs,
      payload: {
        instrument: mark,
        side: 'buy',
        executionType: 'limit',
        limitPrice: 1,
        quantity: 3,
        ...payload,
      },
      ...fields,
    });
    const answer = await submit(this.url, member.key, body);
    if (answer.status !== 202) throw new Error(`submit: ${answer.status} ${answer.text}`);
    return answer.body.requestId;
  }

  async read(member: Member, requestId: string): Promise<any> {
    const answer = await status(this.url, member.key, requestId);
    if (answer.status !== 200) throw new Error(`status: ${answer.status} ${answer.text}`);
    this.isolation.search(member.email, answer.text);
    return answer.body;
  }

  cancel(member: Member, orderRef: string) {
    const key = `cancel-${++this.#signals}`;
    return call(this.url, 'POST', `/api/v1/orders/${orderRef}/cancel`, {
      headers: { ...bearer(member.key), 'idempotency-key': key },
    });
  }

  /** Checks that the bystander is not affected and can still trade. */
  async checkBystander(): Promise<void> {
    const { verdict } = this.run;
    await this.gateway.checkHealth(this.bystander, this.#terminal);
    const now = await this.#heldNow();
    verdict.hold(
      'no execution of another user is changed',
      JSON.stringify(now) === JSON.stringify(this.#before),
      () => ({ before: this.#before, now }),
    );
    await withDeadline(this.#trade(), () => 'an honest order is not filled');
    verdict.hold('the bystander stays connected', this.#terminal.closed === undefined, () => [
      this.#terminal.closed,
    ]);
    const { frames } = this.#terminal;
    for (const frame of frames.splice(0)) {
      this.isolation.search(bystanderEmail, JSON.stringify(frame));
    }
    for (const { data } of this.#reader.events.splice(0)) {
      this.isolation.search(bystanderEmail, JSON.stringify(data));
    }
  }

  async close(): Promise<void> {
    this.#reader.close();
    this.#terminal.close();
    await this.gateway.stop();
  }

  async #settle(): Promise<void> {
    const mark = this.isolation.markOf(bystanderEmail);
    this.isolation.markOf(attackerEmail);
    const source = { instanceId: mark, accountName: `${mark}-account` };
    this.#terminal = await openPlugin(this.url, this.bystander.sessionToken, source);
    this.#reader = await openReader(this.url, this.bystander.key, { source });
    for (let left = restingOrders; left > 0; left--) {
      const requestId = await this.submit(this.bystander);
      const { executionId, orderRef } = await this.#terminal.next('submit', { requestId });
      this.held.push({ requestId, executionId, orderRef });
    }
    // The three stay unacknowledged, working, and with a pending cancel.
    for (const { executionId } of this.held.slice(1)) {
      this.#terminal.send({ type: 'report', seq: ++this.#seq, executionId, status: 'working' });
      await this.#acknowledged();
    }
    const [, , last] = this.held as [OrderHeld, OrderHeld, OrderHeld];
    await this.cancel(this.bystander, last.orderRef);
    await this.#terminal.next('cancel');
    await eventually(async () => {
      const { executions } = await this.read(this.bystander, last.requestId);
      return executions[0].cancel.status === 'dispatched';
    });
    this.#before = await this.#heldNow();
  }

  /** One order from submit to fill, compared with its status and its events in order. */
  async #trade(): Promise<void> {
    const requestId = await this.submit(this.bystander, {}, { quantity: 1 });
    const { executionId } = await this.#terminal.next('submit', { requestId });
    for (const state of ['working', 'filled']) {
      this.#terminal.send({ type: 'report', seq: ++this.#seq, executionId, status: state });
    }
    await this.#acknowledged();
    const { executions } = await this.read(this.bystander, requestId);
    const { verdict } = this.run;
    verdict.hold('an honest order is filled', executions[0].status === 'filled', () => executions);
    for (const state of ['dispatched', 'working', 'filled']) {
      const event = await this.#reader.next(
        'command_result',
        (data) => data.executionId === executionId,
      );
      verdict.hold(
        'an honest reader sees each state, in order',
        event.data.data.status === state,
        () => [state, event],
      );
      const at = Number(event.id.split('-')[1]);
      verdict.hold('events of an honest reader stand in order', at > this.#read, () => [
        this.#read,
        event,
      ]);
      this.#read = at;
    }
  }

  async #acknowledged(): Promise<void> {
    while ((await this.#terminal.next('ack'))['seq'] < this.#seq);
  }

  #heldNow(): Promise<unknown[]> {
    return Promise.all(this.held.map(({ requestId }) => this.read(this.bystander, requestId)));
  }
}
