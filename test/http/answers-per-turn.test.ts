import t from 'tap';
import { AnswersPerTurn, answersPerTurnMax } from '../../src/http/answers-per-turn.js';
import { startTestGateway } from '../support/gateway.js';
import { RawClient, request } from '../support/raw-client.js';

t.test('a turn gives so many answers to its own requests; each turn begins anew', async (t) => {
  const answers = new AnswersPerTurn();
  const used = (turn: number, count: number) =>
    Array.from({ length: count }, () => answers.isUsedUp(turn)).filter(Boolean).length;
  const first = answers.current();
  t.equal(used(first, answersPerTurnMax + 3), 3);
  await new Promise((resolve) => setImmediate(resolve));
  const second = answers.current();
  t.not(second, first);
  t.equal(used(first, 10), 0, 'what has waited does not wait again, and is not counted');
  t.equal(used(second, answersPerTurnMax + 1), 1);
});

t.test('a segment full of requests is answered in part, and its connection closed', async (t) => {
  const { url } = await startTestGateway(t);
  const client = await RawClient.connect(url);
  await client.send(request('GET', '/nothing').repeat(4 * answersPerTurnMax));
  let answered = 0;
  while ((await client.answer()) !== undefined) answered++;
  t.ok(answered <= answersPerTurnMax, `${answered} answers`);
  await client.closed();
});

t.test('clients that wait for their answers get them, however many come at once', async (t) => {
  const { url } = await startTestGateway(t);
  const clients = await Promise.all(
    Array.from({ length: 2 * answersPerTurnMax }, () => RawClient.connect(url)),
  );
  for (let round = 0; round < 2; round++) {
    await Promise.all(clients.map((client) => client.send(request('GET', '/nothing'))));
    const answers = await Promise.all(clients.map((client) => client.answer()));
    t.ok(answers.every((answer) => answer?.status === 404));
  }
  for (const client of clients) client.cut();
});
