import t from 'tap';
import { nextTurn } from '../../src/lib/turn.js';
import { Turns } from '../../src/lib/turns.js';

const asker = { isOver: false, run: (step: () => void) => step() };

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
  for (const name of ['a', 'b', 'c']) turns.run(name, asker, job(log, name, 2));
  t.same(log, [], 'nothing in the turn of the call');
  for (let count = 1; count <= 6; count++) {
    await nextTurn();
    t.equal(log.length, count);
  }
  await nextTurn();
  t.equal(log.length, 6);
});

t.test('owners take turns; the jobs of one go one after the other', async (t) => {
  const turns = new Turns();
  const log: string[] = [];
  for (const name of ['a1', 'a2', 'a3']) turns.run('a', asker, job(log, name, 2));
  await nextTurn();
  turns.run('b', asker, job(log, 'b1', 2));
  for (let count = 0; count < 9; count++) await nextTurn();
  t.same(log, ['a1', 'a1', 'b1', 'a2', 'b1', 'a2', 'a3', 'a3']);
});

t.test(
  'a step may add a job of its own owner, and a job may come after all were done',
  async (t) => {
    const turns = new Turns();
    const log: string[] = [];
    turns.run('a', asker, () => {
      turns.run('a', asker, job(log, 'added', 1));
    });
    for (let count = 0; count < 3; count++) await nextTurn();
    t.same(log, ['added']);
    turns.run('a', asker, job(log, 'later', 1));
    for (let count = 0; count < 3; count++) await nextTurn();
    t.same(log, ['added', 'later']);
  },
);

t.test('a job that nobody waits for any more, or that throws, ends', async (t) => {
  const turns = new Turns();
  const log: string[] = [];
  const told: unknown[] = [];
  const tolerant = {
    isOver: false,
    run(step: () => void) {
      try {
        step();
      } catch (error) {
        told.push(error);
      }
    },
  };
  turns.run('a', { ...asker, isOver: true }, job(log, 'left', 2));
  turns.run('a', tolerant, () => {
    throw new Error('broken');
  });
  turns.run('a', asker, job(log, 'next', 1));
  for (let count = 0; count < 3; count++) await nextTurn();
  t.same(log, ['next']);
  t.match(told, [{ message: 'broken' }]);
});
