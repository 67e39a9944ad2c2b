/**
 * One connection of a hostile plugin: frames before the hello, the hello, then batches of frames with
 * orders and cancels between them. Every answer is compared with the model: error codes in order, the
 * close at the third bad frame, acknowledgements, the events on the stream, and the status answers.
 */
import { eventually } from '../../../support/eventually.js';
import { openReader, type EventReader } from '../../../support/event-reader.js';
import { connectPlugin, type Frame, type Plugin } from '../../../support/plugin.js';
import type { Chance } from '../../chance.js';
import { signalTtlMs, type TestBed } from '../test-bed.js';
import { ExecutionModel } from './execution-model.js';
import { judge, type SaidFrame } from './frame-oracle.js';
import { withDeadline } from '../deadline.js';
import { mutate } from './mutation.js';
import { cancellable } from '../../../model/contract-states.js';
import type { SourceModel } from './source-model.js';
import { FrameGenerator } from './frame-generator.js';

const badFramesMax = 3;
const frameBytesMax = 128 * 1024;
/** An ack of an unknown execution: its error marks the end of a batch and is not counted as bad. */
const barrier = { type: 'ack', executionId: 'exe_of_the_barrier' };
const barrierCode = 'unknown_execution';
const uncounted = ['unknown_execution', 'unknown_cancel', 'seq_repeated'];
const notHelloCodes = ['hello_expected'];

export class PluginSession {
  readonly #generator: FrameGenerator;
  #plugin!: Plugin;
  #reader: EventReader | undefined;
  #badFrames = 0;
  /** Number of status changes of each execution when the stream was opened. */
  readonly #toldBefore = new Map<ExecutionModel, number>();
  readonly #said: string[] = [];

  constructor(
    readonly bed: TestBed,
    readonly source: SourceModel,
    /** Other sources of the same user, whose executions this one must not change. */
    siblings: readonly SourceModel[],
    readonly chance: Chance,
  ) {
    const { isolation, attacker, held } = bed;
    const foreign = {
      executionIds: [
        ...held.map(({ executionId }) => executionId),
        ...siblings.flatMap(({ executions }) => [...executions.keys()].slice(-2)),
      ],
    };
    this.#generator = new FrameGenerator(source, foreign, chance, isolation.markOf(attacker.email));
  }

  /** @returns how many frames were sent. */
  async run(): Promise<number> {
    const { chance, bed } = this;
    this.#plugin = await connectPlugin(bed.url, bed.attacker.sessionToken);
    this.#plugin.socket.on('message', (data: Buffer) =>
      bed.isolation.search(bed.attacker.email, data.toString()),
    );
    if (await this.#greet()) {
      for (let left = chance.between(1, 6); left > 0 && this.#isOpen(); left--) {
        if (chance.happens(0.5)) await this.#order();
        if (chance.happens(0.4)) await this.#cancel();
        if (this.#isOpen()) await this.#batch();
      }
      if (this.#isOpen()) await this.#checkStream();
    }
    this.#reader?.close();
    this.source.due = [];
    if (chance.happens(0.5)) this.#plugin.close();
    else this.#plugin.cut();
    await withDeadline(this.#plugin.waitClosed(), () => 'no end of the connection');
    await this.#checkStatuses();
    return this.#said.length;
  }

  #isOpen(): boolean {
    return this.#badFrames < badFramesMax;
  }

  /** @returns whether the connection was welcomed. */
  async #greet(): Promise<boolean> {
    const { chance, source } = this;
    for (let left = chance.pick([0, 0, 0, 1, 2, 4]); left > 0 && this.#isOpen(); left--) {
      const text = roundTripped(this.#generator.next(source.lastSeq));
      const { frame, codes } = judge(text);
      if (frame?.type === 'hello' || isTooLarge(text)) continue;
      this.#say(text);
      await this.#refused(codes ?? notHelloCodes, text);
    }
    while (this.#isOpen()) {
      const { platform, instanceId, accountName } = source;
      const capabilities = chance.pick([
        ['submit', 'cancel'],
        ['submit', 'cancel', 'snapshot'],
        ['cancel'],
        ['submit', 'cancel', 'cancel'],
      ]);
      const hello: Record<string, unknown> = {
        type: 'hello',
        platform,
        instanceId,
        accountName,
        capabilities,
      };
      if (chance.happens(0.5)) hello['executions'] = this.#generator.known();
      if (chance.happens(0.5)) hello['software'] = { name: this.#generator.mark, version: '1' };
      if (chance.happens(0.2)) mutate(hello, chance);
      const text = roundTripped(JSON.stringify(hello));
      const { frame, codes } = judge(text);
      if ((frame !== undefined && this.#isAnother(frame)) || isTooLarge(text)) continue;
      this.#say(text);
      if (frame?.type === 'hello') return this.#welcomed(frame);
      await this.#refused(codes ?? notHelloCodes, text);
    }
    return false;
  }

  /** A mutated hello may name another source, whose model is elsewhere. */
  #isAnother(hello: SaidFrame): boolean {
    const { platform, instanceId, accountName } = this.source;
    return (
      hello['platform'] !== platform ||
      hello['instanceId'] !== instanceId ||
      hello['accountName'] !== accountName
    );
  }

  async #welcomed(hello: SaidFrame): Promise<boolean> {
    const { source, bed } = this;
    const { verdict } = bed.run;
    const welcome = await this.#next('welcome');
    const { lastSeq } = welcome;
    // The last frames of the previous connection may not be durable yet.
    const isDurable = lastSeq >= source.acknowledgedSeq && lastSeq <= source.lastSeq;
    verdict.hold('a welcome names the last number', isDurable, () => [lastSeq, source]);
    source.capabilities = hello['capabilities'] as string[];
    source.owesAck = false;
    source.welcomedSeq = lastSeq;
    source.takeKnown((hello['executions'] ?? []) as SaidFrame[]);
    for (const executionId of source.redelivered()) await this.#next('submit', { executionId });
    for (const cancelRequestId of source.cancelsRepeated())
      await this.#next('cancel', { cancelRequestId });
    await this.#barrier([]);
    if (this.chance.happens(0.6)) await this.#follow();
    return true;
  }

  async #follow(): Promise<void> {
    const { bed, source } = this;
    if (source.isSpent) return;
    // The stream must begin after the events that the hello causes.
    await this.#mark('begin');
    const { platform, instanceId, accountName } = source;
    const reader = await openReader(bed.url, bed.attacker.key, {
      source: { platform, instanceId, accountName },
    });
    if (reader.status !== 200) throw new Error(`stream: ${reader.status}`);
    this.#reader = reader;
    source.due = [];
    for (const execution of source.executions.values()) {
      this.#toldBefore.set(execution, execution.told.length);
    }
  }

  async #order(): Promise<void> {
    const { bed, source, chance } = this;
    // A signal cannot name an empty instanceId.
    if (source.instanceId === '') return;
    const isOrder = chance.happens(0.8);
    const quantity = chance.pick([1, 3, 0.3, 1e6]);
    const acceptedAfter = Date.now();
    const requestId = await bed.submit(
      bed.attacker,
      {
        platform: source.platform,
        instanceId: source.instanceId,
        ...(isOrder ? {} : { type: 'position', cmd: 'close' }),
      },
      { quantity },
    );
    const isSent = source.capabilities.includes('submit');
    const executionId = `exe_${requestId.slice(4)}_0`;
    const orderRef = isOrder ? `ord_${requestId.slice(4)}_0` : null;
    const model = new ExecutionModel(
      requestId,
      executionId,
      orderRef,
      isOrder ? quantity : null,
      isSent,
      acceptedAfter + signalTtlMs,
    );
    source.executions.set(executionId, model);
    if (!isSent) return;
    await this.#next('submit', { executionId });
    // The submit arrives before the status shows it: wait for the status.
    await eventually(async () => (await this.#shown(model)).status !== 'queued');
  }

  async #cancel(): Promise<void> {
    const { bed, source, chance } = this;
    const { verdict } = bed.run;
    const execution = [...source.executions.values()].at(-chance.between(1, 4));
    if (execution?.orderRef == null) return;
    await eventually(
      async () => execution.mismatch(await this.#shown(execution)) === undefined,
    ).catch(() => undefined);
    const { cancel } = execution;
    const isOpen =
      cancel !== null && ['requested', 'dispatched', 'pending'].includes(cancel.status);
    const due = !cancellable.includes(execution.status)
      ? 'order_not_cancellable'
      : isOpen
        ? 'cancel_already_in_progress'
        : source.capabilities.includes('cancel')
          ? undefined
          : 'terminal_unavailable';
    const answer = await bed.cancel(bed.attacker, execution.orderRef);
    const code = answer.body?.error?.code as string | undefined;
    if (
      !verdict.hold('a cancel is answered by the state of its order', code === due, () => [
        due,
        answer.text,
        execution,
      ])
    )
      return;
    if (due !== undefined) return;
    const attempt = (cancel?.attempt ?? 0) + 1;
    const { cancelRequestId } = answer.body;
    execution.cancelAsked(attempt, cancelRequestId);
    await this.#next('cancel', { cancelRequestId });
    await eventually(async () => (await this.#shown(execution)).cancel?.status !== 'requested');
  }

  async #batch(): Promise<void> {
    const { chance, source } = this;
    const due: (readonly string[])[] = [];
    for (let left = chance.pick([1, 3, 10, 30]); left > 0 && this.#isOpen(); left--) {
      const text = roundTripped(this.#generator.next(source.lastSeq));
      if (isTooLarge(text)) continue;
      this.#say(text);
      const { frame, codes } = judge(text);
      const answer = codes ?? source.take(frame);
      if (answer === undefined) continue;
      const possible = typeof answer === 'string' ? [answer] : answer;
      if (!uncounted.includes(possible[0] as string)) this.#badFrames++;
      due.push(possible);
    }
    await this.#barrier(due);
  }

  /** Waits for the expected errors and no others, and for the close if there were too many. */
  async #barrier(due: readonly (readonly string[])[]): Promise<void> {
    const { verdict } = this.bed.run;
    const isClosing = !this.#isOpen();
    if (!isClosing) this.#plugin.send(barrier);
    const codes: string[] = [];
    for (let left = due.length + (isClosing ? 0 : 1); left > 0; left--) {
      codes.push((await this.#next('error'))['code']);
    }
    const all = isClosing ? due : [...due, [barrierCode]];
    const isRight = all.every((possible, place) => possible.includes(codes[place] as string));
    verdict.hold('each bad frame is answered with its code', isRight, () => ({ all, codes }));
    if (isClosing) {
      await this.#closedAsBad();
      return;
    }
    if (!this.source.owesAck) return;
    this.source.owesAck = false;
    for (;;) {
      const { seq } = (await this.#next('ack')) as unknown as { seq: number };
      const { lastSeq } = this.source;
      if (
        !verdict.hold('no number is acknowledged before it is said', seq <= lastSeq, () => [
          seq,
          lastSeq,
        ])
      )
        return;
      this.source.acknowledgedSeq = seq;
      if (seq === lastSeq) return;
    }
  }

  async #refused(codes: readonly string[], text: string): Promise<void> {
    const { verdict } = this.bed.run;
    this.#badFrames++;
    const { code } = await this.#next('error');
    verdict.hold('each bad frame is answered with its code', codes.includes(code), () => [
      codes,
      code,
      text,
    ]);
    if (!this.#isOpen()) await this.#closedAsBad();
  }

  async #closedAsBad(): Promise<void> {
    const { code } = await withDeadline(
      this.#plugin.waitClosed(),
      () => `no close after ${this.#said.slice(-6).join('\n')}`,
    );
    this.bed.run.verdict.hold('the third bad frame closes with 4502', code === 4502, () => code);
  }

  /** The stream carries the plugin's events in order, and every change of status once. */
  async #checkStream(): Promise<void> {
    const { source, bed, chance } = this;
    const reader = this.#reader;
    if (reader === undefined || source.isSpent) return;
    const { verdict } = bed.run;
    const text = `end ${chance.between(0, 1e9)}`;
    await this.#mark(text);
    await withDeadline(
      reader.next('terminal_message', (event) => event.data.text === text),
      () => "no end of the stream's events",
    );
    const { events } = reader;
    const due = source.due.slice(0, -1);
    for (const { data } of events) bed.isolation.search(bed.attacker.email, JSON.stringify(data));
    const own = events
      .filter(({ name, data }) => !isOfTheGateway(name, data))
      .map(({ name, data }) => ({
        name,
        data: data.data,
        rawText: data.rawText,
        executionId: data.executionId,
      }));
    verdict.hold(
      'a stream carries what the plugin said, in order',
      JSON.stringify(own) === JSON.stringify(due),
      () => firstUnlike(own, due),
    );
    for (const execution of source.executions.values()) {
      const told = execution.told.slice(this.#toldBefore.get(execution) ?? 0);
      const seen = events
        .filter(
          ({ name, data }) =>
            name === 'command_result' &&
            isOfTheGateway(name, data) &&
            data.executionId === execution.executionId,
        )
        .map(({ data }) => data.data.status as string)
        .filter((status) => !['queued', 'dispatched', 'denied'].includes(status));
      verdict.hold(
        'a stream tells every change of an execution',
        seen.join() === told.join(),
        () => ({ seen, told, execution }),
      );
    }
  }

  /** Sends an event, whose acknowledgement says that everything before it is durable. */
  async #mark(text: string): Promise<void> {
    const { source } = this;
    const seq = source.lastSeq + 1;
    const event = { type: 'event', seq, event: 'terminal_message', data: { text } };
    this.#say(JSON.stringify(event));
    source.take(event);
    await this.#barrier([]);
  }

  async #checkStatuses(): Promise<void> {
    const { verdict } = this.bed.run;
    for (const execution of [...this.source.executions.values()].slice(-8)) {
      let mismatch: string | undefined;
      await eventually(async () => {
        mismatch = execution.mismatch(await this.#shown(execution));
        return mismatch === undefined;
      }).catch(() => undefined);
      verdict.hold('a status is what the terminal said', mismatch === undefined, () => mismatch);
    }
  }

  async #shown(execution: ExecutionModel): Promise<any> {
    const { executions } = await this.bed.read(this.bed.attacker, execution.requestId);
    return executions[0];
  }

  #say(text: string): void {
    this.#said.push(text.slice(0, 500));
    this.#plugin.send(text);
  }

  #next(type: string, fields: object = {}): Promise<Frame> {
    return withDeadline(
      this.#plugin.next(type, fields),
      () =>
        `no ${type} ${JSON.stringify(fields)}, but ${JSON.stringify(this.#plugin.frames)}, ` +
        `after ${this.#said.slice(-6).join('\n')}`,
    );
  }
}

/** Event name → a field that only the gateway's own events have. */
const ownFields: Readonly<Record<string, string>> = {
  command_result: 'delivery',
  cancel_update: 'requestedAt',
  source_status: 'capabilities',
};

function isOfTheGateway(name: string, { data }: any): boolean {
  const field = ownFields[name];
  return field !== undefined && Object.hasOwn(data, field);
}

function firstUnlike(own: readonly unknown[], due: readonly unknown[]): unknown {
  const place = due.findIndex((each, at) => JSON.stringify(each) !== JSON.stringify(own[at]));
  return {
    place,
    own: own[place < 0 ? due.length : place],
    due: due[place],
    counts: [own.length, due.length],
  };
}

/** A frame that is too large ends the connection, which framing.ts covers. */
function isTooLarge(text: string): boolean {
  return Buffer.byteLength(text) > frameBytesMax;
}

/** @returns the text as the gateway receives it: UTF-8 replaces a lone surrogate. */
function roundTripped(text: string): string {
  return Buffer.from(text).toString();
}
