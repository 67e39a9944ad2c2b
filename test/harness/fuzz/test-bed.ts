/**
 * Where the hostile play: a gateway, the user that attacks, and a bystander with a terminal, a stream
 * and orders of its own, which must not feel anything of it. Lives for one target.
 */
import { call, signal, status, submit } from '../../support/api.js';
import { openReader, type EventReader } from '../../support/event-reader.js';
import { eventually } from '../../support/eventually.js';
import { openPlugin, type Plugin } from '../../support/plugin.js';
import { GatewayUnderFire, type Member } from './fuzzed-gateway.js';
import type { FuzzTrial } from './target.js';
import { inTime } from './deadline.js';
import { Isolation } from './tenant-isolation.js';

/** Time limits that no round comes near, so that only what is said changes anything. */
const limits = {
  loginAttemptsPerMinute: 1_000_000,
  unauthenticatedAttemptsPerMinute: 1_000_000,
  keyRequestsPerMinute: 1_000_000,
  executionConfirmTimeoutMs: 86_400_000,
  cancelConfirmTimeoutMs: 86_400_000,
  heartbeatWindowMs: 86_400_000,
};

/** The longest there is. */
export const signalTtlMs = 300_000;

const attackerEmail = 'attacker@example.com';
const bystanderEmail = 'bystander@example.com';
/** Orders of the bystander that stay open, for the attacker to name. */
const restingOrders = 3;

export interface OrderHeld {
  readonly requestId: string;
  readonly executionId: string;
  readonly orderRef: string;
}

export class Arena {
  readonly isolation: Isolation;
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
    readonly trial: FuzzTrial,
    readonly gateway: GatewayUnderFire,
    attacker: Member,
    bystander: Member,
  ) {
    this.isolation = new Isolation(trial.verdict);
    this.attacker = attacker;
    this.bystander = bystander;
  }

  static async open(
    trial: FuzzTrial,
    name: string,
    further: Readonly<Record<string, number>> = {},
  ): Promise<Arena> {
    const emails = [attackerEmail, bystanderEmail];
    const gateway = await GatewayUnderFire.open(trial, name, emails, { ...limits, ...further });
    const [attacker, bystander] = [
      await gateway.member(attackerEmail),
      await gateway.member(bystanderEmail),
    ];
    const arena = new Arena(trial, gateway, attacker, bystander);
    await arena.#settle();
    return arena;
  }

  get url(): string {
    return this.gateway.url;
  }

  /** A signal of the user's, its values marked; throws unless it is accepted. @returns its requestId. */
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
      headers: { authorization: `Bearer ${member.key}`, 'idempotency-key': key },
    });
  }

  /** What the bystander must have felt of it: nothing, and its own business goes on. */
  async checkBystander(): Promise<void> {
    const { verdict } = this.trial;
    await this.gateway.holdsItsGround(this.bystander, this.#terminal);
    const now = await this.#heldNow();
    verdict.hold(
      'no execution of another user is changed',
      JSON.stringify(now) === JSON.stringify(this.#before),
      () => ({ before: this.#before, now }),
    );
    await inTime(this.#trade(), () => 'an honest order is not filled');
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
    // One not acknowledged, one working, one whose cancel is under way.
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

  /** One order from the signal to its fill, seen in the status and in the stream, in order. */
  async #trade(): Promise<void> {
    const requestId = await this.submit(this.bystander, {}, { quantity: 1 });
    const { executionId } = await this.#terminal.next('submit', { requestId });
    for (const state of ['working', 'filled']) {
      this.#terminal.send({ type: 'report', seq: ++this.#seq, executionId, status: state });
    }
    await this.#acknowledged();
    const { executions } = await this.read(this.bystander, requestId);
    const { verdict } = this.trial;
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
