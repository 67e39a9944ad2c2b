/**
 * The target `http`: rounds of inputs on raw sockets, many at a time, while a member who does nothing
 * wrong is served. Behind each round, what the terminal got must be exactly what the inputs meant;
 * in the end the store must say the same.
 */
import { openStore } from '../../../../src/store/lmdb-store.js';
import { bearer, call, signal, submit } from '../../../support/api.js';
import { eventually } from '../../../support/eventually.js';
import type { Plugin } from '../../../support/plugin.js';
import { GatewayUnderFire, openTerminal, type Member } from '../fuzzed-gateway.js';
import type { FuzzTrial } from '../target.js';
import { bodyInput } from './body-inputs.js';
import { createCast, type Cast } from './fixtures.js';
import { chunkInput } from './chunk-inputs.js';
import { converse } from './exchange.js';
import type { Material } from './valid-requests.js';
import { playFloods } from './flood.js';
import { framingInput } from './framing-inputs.js';
import { headInput } from './head-inputs.js';
import type { Input } from './input.js';
import { Ledger } from './ledger.js';
import { noiseInput } from './mutated-inputs.js';
import { judge, meaningOf } from './oracle.js';
import { plainInput } from './plain-inputs.js';

const inputsPerRound = 2_000;
const atATime = 48;
/** The cast's reports have the numbers before it. */
const firstSeq = 1_000;
const names = ['attacker@example.com', 'victim@example.com'] as const;
const limits = { keyRequestsPerMinute: 1_000_000, loginAttemptsPerMinute: 1_000_000 };

const families: Readonly<Record<string, (material: Material) => Input>> = {
  plain: plainInput,
  body: bodyInput,
  head: headInput,
  framing: framingInput,
  chunks: chunkInput,
};
const weights = { plain: 2, body: 2, head: 2, framing: 3, chunks: 1, noise: 3 };

export async function playHttp(trial: FuzzTrial, inputs: number): Promise<string> {
  const { verdict } = trial;
  const gateway = await GatewayUnderFire.open(trial, 'http', names, limits);
  const attacker = await gateway.member(names[0]);
  const victim = await gateway.member(names[1]);
  const [terminal, victimTerminal] = [
    await openTerminal(gateway.url, attacker),
    await openTerminal(gateway.url, victim),
  ];
  const cast = await createCast(gateway.url, attacker, terminal);
  const ledger = new Ledger(verdict);
  ledger.follow(terminal, firstSeq);
  const chance = trial.chance.child('http');
  const campaign = { gateway, cast, ledger, trial, terminal };
  await gateway.holdsItsGround(victim, victimTerminal);
  const descriptors = gateway.descriptors;
  let done = 0;
  for (verdict.round = 1; done < inputs && verdict.violations.length === 0; verdict.round++) {
    const count = Math.min(inputsPerRound, inputs - done);
    const work = (): Promise<void> => playRound(campaign, chance, done, count);
    await whileServed(campaign, victim, victimTerminal, work)
      .then(() => settle(campaign))
      .then(() => gateway.holdsItsGround(victim, victimTerminal))
      // A client that is not answered at all: the gateway is no more.
      .catch((error: unknown) => gateway.brokeOff(error));
    done += count;
    await gateway.descriptorsBackTo(descriptors + 8);
  }
  await gateway.stop();
  await holdStore(gateway.dataDir, ledger);
  const floods = verdict.violations.length === 0 ? await playFloods(trial, inputs) : 'no floods';
  return `${done} inputs, ${ledger.executions} signals executed, ${gateway.memoryMb} MB at most; ${floods}`;
}

interface Campaign {
  readonly gateway: GatewayUnderFire;
  readonly cast: Cast;
  readonly ledger: Ledger;
  readonly trial: FuzzTrial;
  readonly terminal: Plugin;
}

function anyInput(material: Material): Input {
  const family = material.chance.weigh(weights);
  const make = families[family];
  if (make !== undefined) return make(material);
  const other = families[material.chance.pick(['plain', 'framing', 'chunks', 'head'])];
  return noiseInput(material, other as (material: Material) => Input);
}

/** Input by input of its own chance, so that one can be played again alone. */
async function playRound(
  { gateway, cast, ledger, trial }: Campaign,
  chance: Material['chance'],
  first: number,
  count: number,
): Promise<void> {
  const reach = createReach(gateway.url);
  let next = first;
  const worker = async (): Promise<void> => {
    while (next < first + count && trial.verdict.violations.length === 0) {
      const place = next++;
      const input = anyInput({ cast, chance: chance.child(`${place}`) });
      const meaning = meaningOf(input, cast, ledger);
      const heard = await converse(gateway.url, input, meaning.reading, place, reach);
      judge(trial.verdict, ledger, cast, input, meaning, heard);
    }
  };
  await Promise.all(Array.from({ length: atATime }, worker));
}

/** The member who does nothing wrong, one signal after the other as long as `work` goes on. */
async function whileServed(
  { gateway, trial }: Campaign,
  victim: Member,
  terminal: Plugin,
  work: () => Promise<void>,
): Promise<void> {
  let isOver = false;
  const serve = async (): Promise<void> => {
    while (!isOver) {
      const answer = await submit(gateway.url, victim.key, signal());
      const isServed = answer.status === 202;
      trial.verdict.hold('who does nothing wrong is served', isServed, () => answer.text);
      if (!isServed) return;
      await terminal.next('submit', { signalId: answer.body.signalId });
    }
  };
  await Promise.all([
    serve(),
    work().finally(() => {
      isOver = true;
    }),
  ]);
}

/** Nothing is under way any more once a last signal has come through. */
async function settle({ gateway, cast, ledger, trial }: Campaign): Promise<void> {
  const { attacker, forbiddenKeyId } = cast;
  const last = signal();
  const isDelivered = true;
  const meant = { signalId: last['signalId'] as string, payload: last['payload'], isDelivered };
  ledger.allow({ kind: 'signal', signal: meant, idempotencyKey: '' }, 'the last of its round');
  const answer = await submit(gateway.url, attacker.key, last);
  trial.verdict.hold('the attacker is served too', answer.status === 202, () => answer.text);
  await eventually(() => ledger.hasDelivered(meant.signalId) && ledger.isComplete).catch(
    () => undefined,
  );
  ledger.settle();
  const keys = await call(gateway.url, 'GET', '/api/api-keys', { headers: bearer(attacker.token) });
  const isThere = (keys.body as { id: number }[]).some(({ id }) => id === forbiddenKeyId);
  trial.verdict.hold(
    'no key is revoked that was not meant',
    isThere || ledger.mayBeRevoked(forbiddenKeyId),
    () => keys.text,
  );
}

/**
 * One request at a time on a connection of its own. Who asks joins the next one, since the one under
 * way may have been sent before the bytes that are asked about.
 */
function createReach(url: string): () => Promise<void> {
  let current: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= current.then(() => {
      next = undefined;
      const request = call(url, 'GET', '/api/none');
      current = request;
      return request.then(() => undefined);
    });
    return next;
  };
}

async function holdStore(dataDir: string, ledger: Ledger): Promise<void> {
  const store = openStore(dataDir);
  const userId = store.get('emails', names[0]) as string;
  const signalIds = store
    .range('requests', { prefix: [userId] })
    .map(({ record }) => record.signalId);
  // The cast's orders came before the first input.
  ledger.holdStore(signalIds.filter((signalId) => !signalId.startsWith('signal-')));
  await store.close();
}
