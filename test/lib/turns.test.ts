import t from 'tap';
import { Turns } from '../../src/lib/turns.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A job of so many steps, each of which is noted under a name. */
function job(log: string[], name: string, steps: number): () => boolean {
  let left = steps;
  return () => {
    log.push(name);
    return --left === 0;
  };
}

t.test('one step a turn, whatever number of jobs wait', async (t) => {
  const turns = new Turns();
  const log: string[] = [];
  for (const name of ['a', 'b', 'c']) turns.run(name, job(log, name, 2));
  t.same(log, [], 'nothing in the turn of the call');
  for (let count = 1; count <= 6; count++) {
    await turn();
    t.equal(log.length, count);
  }
  await turn();
  t.equal(log.length, 6);
});

t.test('owners take turns; the jobs of one go one after the other', async (t) => {
  const turns = new Turns();
  const log: string[] = [];
  for (const name of ['a1', 'a2', 'a3']) turns.run('a', job(log, name, 2));
  await turn();
  turns.run('b', job(log, 'b1', 2));
  for (let count = 0; count < 9; count++) await turn();
  t.same(log, ['a1', 'a1', 'b1', 'a2', 'b1', 'a2', 'a3', 'a3']);
});

t.test(
  'a step may add a job of its own owner, and a job may come after all were done',
  async (t) => {
    const turns = new Turns();
    const log: string[] = [];
    turns.run('a', () => {
      turns.run('a', job(log, 'added', 1));
      return true;
    });
    for (let count = 0; count < 3; count++) await turn();
    t.same(log, ['added']);
    turns.run('a', job(log, 'later', 1));
    for (let count = 0; count < 3; count++) await turn();
    t.same(log, ['added', 'later']);
  },
);
