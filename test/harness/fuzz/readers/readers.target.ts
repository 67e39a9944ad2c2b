/**
 * The target `readers`: hostile readers of event streams beside a good one, which must get every
 * event of its source, once and in order. What is counted as an input is one request for a stream.
 */
import { sourceQuery } from '../../../support/event-reader.js';
import { eventually } from '../../../support/eventually.js';
import { RawClient } from '../../../support/raw-client.js';
import type { Chance } from '../../chance.js';
import { Arena } from '../test-bed.js';
import { inTime } from '../deadline.js';
import type { Target } from '../target.js';
import { GoodReader } from './control-reader.js';
import { oddReaders } from './misbehaving-readers.js';
import { spoiltRequest } from './stream-requests.js';

const streamsPerUserMax = 8;
const inputsPerRound = 400;

export const playReaders: Target = async (trial, inputs) => {
  const { verdict } = trial;
  const chance = trial.chance.child('readers');
  const arena = await Arena.open(trial, 'readers', { streamsPerUserMax });
  const good = await GoodReader.open(arena);
  const { attacker, isolation, url } = arena;
  const search = (text: string): void => isolation.search(attacker.email, text);

  let opened = 0;
  /** The gateway sees a reader leave a little later; now and then that is waited for. */
  async function makeRoom(): Promise<void> {
    opened++;
    if (opened < streamsPerUserMax / 2 - 1) return;
    await good.aloneAgain();
    opened = 0;
  }

  async function playRequest(own: Chance): Promise<void> {
    const newest = await good.newest();
    const wish = spoiltRequest(good.source, attacker.key, newest, own);
    const client = await RawClient.connect(url);
    const cuts = own.happens(0.2) ? own.between(1, wish.bytes.length - 1) : wish.bytes.length;
    await client.send(wish.bytes.slice(0, cuts));
    // Half a head, and then nothing: it is nobody's loss.
    if (cuts === wish.bytes.length) {
      const answer = await inTime(client.answer(), () => `no answer to ${wish.bytes}`);
      const code = /"code":"(\w+)"/.exec(answer?.body ?? '')?.[1];
      const given = `${answer?.status ?? 0}${code === undefined ? '' : ` ${code}`}`;
      verdict.hold('a stream is opened or refused as the contract says', given === wish.due, () => [
        wish,
        answer,
      ]);
      if (given === '200') {
        const first = await inTime(firstWords(client), () => `no first words to ${wish.bytes}`);
        const isGap = first.includes('event: replay_gap');
        verdict.hold(
          'a cursor that cannot be replayed gets a replay_gap',
          wish.isGap === undefined || isGap === wish.isGap,
          () => [wish, first],
        );
      }
      search((answer?.body ?? '') + client.unread);
    }
    client.cut();
    await makeRoom();
  }

  /** As many streams as a user may have; one more is refused, and one that left makes room. */
  async function playCrowd(): Promise<void> {
    const path = `/api/v1/terminal-events/stream?${sourceQuery(good.source)}`;
    const bytes = `GET ${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${attacker.key}\r\n\r\n`;
    await good.aloneAgain();
    opened = 0;
    const clients: RawClient[] = [];
    const statuses: number[] = [];
    for (let left = streamsPerUserMax + 2; left > 0; left--) {
      const client = await RawClient.connect(url);
      await client.send(bytes);
      statuses.push((await inTime(client.answer(), () => 'no answer in the crowd'))?.status ?? 0);
      clients.push(client);
    }
    const due = statuses.map((_, place) => (place < streamsPerUserMax - 1 ? 200 : 429));
    verdict.hold(
      'a user has so many streams and no more',
      statuses.join() === due.join(),
      () => statuses,
    );
    for (const client of clients) client.cut();
    await good.aloneAgain();
  }

  async function playOddity(name: string, own: Chance): Promise<void> {
    const path = `/api/v1/terminal-events/stream?${sourceQuery(good.source)}`;
    const publish = (count: number, bytes: number) => good.publish(count, bytes);
    const text = await inTime(
      (oddReaders[name] as (typeof oddReaders)[string])({
        url,
        key: attacker.key,
        path,
        chance: own,
        publish,
      }),
      () => `a reader that ${name} does not come to its end`,
    );
    search(text);
    await makeRoom();
  }

  let played = 0;
  const names = Object.keys(oddReaders);
  await arena.checkBystander();
  const isClean = (): boolean => verdict.violations.length === 0;
  while (played < inputs && isClean()) {
    verdict.round++;
    const roundEnd = Math.min(inputs, played + inputsPerRound);
    while (played < roundEnd && isClean()) {
      const own = chance.child(`${++played}`);
      if (own.happens(0.1)) await good.publish(own.between(1, 20), own.pick([10, 2000, 30_000]));
      if (own.happens(0.1)) await playOddity(own.pick(names.slice(1)), own);
      else await playRequest(own);
    }
    await playOddity(names[0] as string, chance.child(`stop ${verdict.round}`));
    await playCrowd();
    await good.check();
    await arena.checkBystander();
  }
  await eventually(() => good.isUpToDate, 30_000);
  const read = good.count;
  good.close();
  await arena.close();
  return `${played} requests, ${read} events read in order, ${arena.gateway.memoryMb} MB at most`;
};

/** What a stream says before any event: at least the time to wait before coming back. */
async function firstWords(client: RawClient): Promise<string> {
  return eventually(
    () => (client.unread.includes('retry: 1000') ? client.unread : undefined),
    30_000,
  );
}
