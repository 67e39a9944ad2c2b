/**
 * The target `readers`: hostile readers of event streams beside a control reader, which must receive
 * every event of its source once and in order. An input is one request for a stream.
 */
import { sourceQuery } from '../../../support/event-reader.js';
import { eventually } from '../../../support/eventually.js';
import { RawClient } from '../../../support/raw-client.js';
import type { Chance } from '../../chance.js';
import { TestBed } from '../test-bed.js';
import { withDeadline } from '../deadline.js';
import type { Target } from '../target.js';
import { ControlReader } from './control-reader.js';
import { misbehavingReaders } from './misbehaving-readers.js';
import { mutatedRequest } from './stream-requests.js';

const streamsPerUserMax = 8;
const inputsPerRound = 400;

export const fuzzReaders: Target = async (run, inputs) => {
  const { verdict } = run;
  const chance = run.chance.child('readers');
  const bed = await TestBed.open(run, 'readers', { streamsPerUserMax });
  const control = await ControlReader.open(bed);
  const { attacker, isolation, url } = bed;
  const search = (text: string): void => isolation.search(attacker.email, text);

  let opened = 0;
  /** The gateway notices a closed stream with a delay: waits before the limit is reached. */
  async function makeRoom(): Promise<void> {
    opened++;
    if (opened < streamsPerUserMax / 2 - 1) return;
    await control.aloneAgain();
    opened = 0;
  }

  async function tryRequest(own: Chance): Promise<void> {
    const newest = await control.newest();
    const wish = mutatedRequest(control.source, attacker.key, newest, own);
    const client = await RawClient.connect(url);
    const cuts = own.happens(0.2) ? own.between(1, wish.bytes.length - 1) : wish.bytes.length;
    await client.send(wish.bytes.slice(0, cuts));
    // An incomplete head is not answered.
    if (cuts === wish.bytes.length) {
      const answer = await withDeadline(client.answer(), () => `no answer to ${wish.bytes}`);
      const code = /"code":"(\w+)"/.exec(answer?.body ?? '')?.[1];
      const given = `${answer?.status ?? 0}${code === undefined ? '' : ` ${code}`}`;
      verdict.hold('a stream is opened or refused as the contract says', given === wish.due, () => [
        wish,
        answer,
      ]);
      if (given === '200') {
        const first = await withDeadline(
          firstWords(client),
          () => `no first words to ${wish.bytes}`,
        );
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

  /** Opens the allowed number of streams and two more, which must be refused. */
  async function checkStreamLimit(): Promise<void> {
    const path = `/api/v1/terminal-events/stream?${sourceQuery(control.source)}`;
    const bytes = `GET ${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${attacker.key}\r\n\r\n`;
    await control.aloneAgain();
    opened = 0;
    const clients: RawClient[] = [];
    const statuses: number[] = [];
    for (let left = streamsPerUserMax + 2; left > 0; left--) {
      const client = await RawClient.connect(url);
      await client.send(bytes);
      statuses.push(
        (await withDeadline(client.answer(), () => 'no answer in the crowd'))?.status ?? 0,
      );
      clients.push(client);
    }
    const due = statuses.map((_, place) => (place < streamsPerUserMax - 1 ? 200 : 429));
    verdict.hold(
      'a user has so many streams and no more',
      statuses.join() === due.join(),
      () => statuses,
    );
    for (const client of clients) client.cut();
    await control.aloneAgain();
  }

  async function runMisbehavingReader(name: string, own: Chance): Promise<void> {
    const path = `/api/v1/terminal-events/stream?${sourceQuery(control.source)}`;
    const publish = (count: number, bytes: number) => control.publish(count, bytes);
    const text = await withDeadline(
      (misbehavingReaders[name] as (typeof misbehavingReaders)[string])({
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
  const names = Object.keys(misbehavingReaders);
  await bed.checkBystander();
  const isClean = (): boolean => verdict.violations.length === 0;
  while (played < inputs && isClean()) {
    verdict.round++;
    const roundEnd = Math.min(inputs, played + inputsPerRound);
    while (played < roundEnd && isClean()) {
      const own = chance.child(`${++played}`);
      if (own.happens(0.1)) await control.publish(own.between(1, 20), own.pick([10, 2000, 30_000]));
      if (own.happens(0.1)) await runMisbehavingReader(own.pick(names.slice(1)), own);
      else await tryRequest(own);
    }
    await runMisbehavingReader(names[0] as string, chance.child(`stop ${verdict.round}`));
    await checkStreamLimit();
    await control.check();
    await bed.checkBystander();
  }
  await eventually(() => control.isUpToDate, 30_000);
  const read = control.count;
  control.close();
  await bed.close();
  return `${played} requests, ${read} events read in order, ${bed.gateway.memoryMb} MB at most`;
};

/** The text of a stream before its first event: at least the `retry:` line. */
async function firstWords(client: RawClient): Promise<string> {
  return eventually(
    () => (client.unread.includes('retry: 1000') ? client.unread : undefined),
    30_000,
  );
}
