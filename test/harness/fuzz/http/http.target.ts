/**
 * The target `http`: rounds of inputs on raw sockets, many in parallel, while another user is served. After
 * each round the terminal must have received exactly the effects of the inputs; in the end the store must
 * contain the same.
 */
import { openStore } from '../../../../src/store/lmdb-store.js';
import { bearer, call, signal, submit } from '../../../support/api.js';
import { eventually } from '../../../support/eventually.js';
import type { Plugin } from '../../../support/plugin.js';
import { FuzzedGateway, openTerminal, type Member } from '../fuzzed-gateway.js';
import type { FuzzRun } from '../target.js';
import { bodyInput } from './body-inputs.js';
import { createFixtures, type Fixtures } from './fixtures.js';
import { chunkInput } from './chunk-inputs.js';
import { exchange } from './exchange.js';
import type { Material } from './valid-requests.js';
import { runFloods } from './flood.js';
import { framingInput } from './framing-inputs.js';
import { headInput } from './head-inputs.js';
import type { Input } from './input.js';
import { Ledger } from './ledger.js';
import { mutatedInput } from './mutated-inputs.js';
import { judge, meaningOf } from './oracle.js';
import { plainInput } from './plain-inputs.js';

const inputsPerRound = 2_000;
const atATime = 48;
/** Lower numbers belong to the reports of the fixtures. */
const firstSeq = 1_000;
const names = ['attacker@example.com', 'victim@example.com'] as const;
const limits = {
  keyRequestsPerMinute: 1_000_000,
  cancelAllsPerMinute: 1_000_000,
  userRequestsPerMinute: 1_000_000,
  loginAttemptsPerMinute: 1_000_000,
};

const families: Readonly<Record<string, (material: Material) => Input>> = {
  plain: plainInput,
  body: bodyInput,
  head: headInput,
  framing: framingInput,
  chunks: chunkInput,
};
const weights = { plain: 2, body: 2, head: 2, framing: 3, chunks: 1, noise: 3 };

export async function fuzzHttp(run: FuzzRun, inputs: number): Promise<string> {
  const { verdict } = run;
  const gateway = await FuzzedGateway.open(run, 'http', names, limits);
  const attacker = await gateway.member(names[0]);
  const victim = await gateway.member(names[1]);
  const [terminal, victimTerminal] = [
    await openTerminal(gateway.url, attacker),
    await openTerminal(gateway.url, victim),
  ];
  const fixtures = await createFixtures(gateway.url, attacker, terminal);
  const ledger = new Ledger(verdict);
  ledger.follow(terminal, firstSeq);
  const chance = run.chance.child('http');
  const target = { gateway, fixtures, ledger, run, terminal };
  await gateway.checkHealth(victim, victimTerminal);
  const descriptors = gateway.descriptors;
  let done = 0;
  for (verdict.round = 1; done < inputs && verdict.violations.length === 0; verdict.round++) {
    const count = Math.min(inputsPerRound, inputs - done);
    const work = (): Promise<void> => runRound(target, chance, done, count);
    await whileServed(target, victim, victimTerminal, work)
      .then(() => settle(target))
      .then(() => gateway.checkHealth(victim, victimTerminal))
      // An unanswered request means that the gateway has exited.
      .catch((error: unknown) => gateway.failed(error));
    done += count;
    await gateway.descriptorsBackTo(descriptors + 8);
  }
  await gateway.stop();
  await holdStore(gateway.dataDir, ledger);
  const floods = verdict.violations.length === 0 ? await runFloods(run, inputs) : 'no floods';
  return `${done} inputs, ${ledger.executions} signals executed, ${gateway.memoryMb} MB at most; ${floods}`;
}

interface HttpRun {
  readonly gateway: FuzzedGateway;
  readonly fixtures: Fixtures;
  readonly ledger: Ledger;
  readonly run: FuzzRun;
  readonly terminal: Plugin;
}

function anyInput(material: Material): Input {
  const family = material.chance.weigh(weights);
  const make = families[family];
  if (make !== undefined) return make(material);
  const other = families[material.chance.pick(['plain', 'framing', 'chunks', 'head'])];
  return mutatedInput(material, other as (material: Material) => Input);
}

/** Each input has a chance of its own, so that it can be repeated alone. */
async function runRound(
  { gateway, fixtures, ledger, run }: HttpRun,
  chance: Material['chance'],
  first: number,
  count: number,
): Promise<void> {
  const barrier = createBarrier(gateway.url);
  let next = first;
  const worker = async (): Promise<void> => {
    while (next < first + count && run.verdict.violations.length === 0) {
      const place = next++;
      const input = anyInput({ fixtures, chance: chance.child(`${place}`) });
      const meaning = meaningOf(input, fixtures, ledger);
      const outcome = await exchange(gateway.url, input, meaning.reading, place, barrier);
      judge(run.verdict, ledger, fixtures, input, meaning, outcome);
    }
  };
  await Promise.all(Array.from({ length: atATime }, worker));
}

/** Submits one valid signal after another while `work` runs. */
async function whileServed(
  { gateway, run }: HttpRun,
  victim: Member,
  terminal: Plugin,
  work: () => Promise<void>,
): Promise<void> {
  let isOver = false;
  const serve = async (): Promise<void> => {
    while (!isOver) {
      const answer = await submit(gateway.url, victim.key, signal());
      const isServed = answer.status === 202;
      run.verdict.hold('who does nothing wrong is served', isServed, () => answer.text);
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

/** The delivery of a last signal shows that nothing is pending. */
async function settle({ gateway, fixtures, ledger, run }: HttpRun): Promise<void> {
  const { attacker, forbiddenKeyId } = fixtures;
  const last = signal();
  const isDelivered = true;
  const meant = { signalId: last['signalId'] as string, payload: last['payload'], isDelivered };
  ledger.allow({ kind: 'signal', signal: meant, idempotencyKey: '' }, 'the last of its round');
  const answer = await submit(gateway.url, attacker.key, last);
  run.verdict.hold('the attacker is served too', answer.status === 202, () => answer.text);
  await eventually(() => ledger.hasDelivered(meant.signalId) && ledger.isComplete).catch(
    () => undefined,
  );
  ledger.settle();
  const keys = await call(gateway.url, 'GET', '/api/api-keys', { headers: bearer(attacker.token) });
  const isThere = (keys.body as { id: number }[]).some(({ id }) => id === forbiddenKeyId);
  run.verdict.hold(
    'no key is revoked that was not meant',
    isThere || ledger.mayBeRevoked(forbiddenKeyId),
    () => keys.text,
  );
}

/**
 * Makes one request at a time on a connection of its own. A caller waits for the next request, since the
 * pending one may have been sent before the caller's bytes.
 */
function createBarrier(url: string): () => Promise<void> {
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
  // Without the orders of the fixtures.
  ledger.holdStore(signalIds.filter((signalId) => !signalId.startsWith('signal-')));
  await store.close();
}
