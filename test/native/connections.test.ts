/** How the native server counts connections: native-notes/request-lifetimes.md. */
import { once } from 'node:events';
import t from 'tap';
import { WebSocket } from 'ws';
import { RawClient, rawCall } from '../support/raw-client.js';
import { eventually } from '../support/eventually.js';
import { serve } from './tiny-app.js';

t.test('a filter hears of each connection when it comes and when it has gone', async (t) => {
  const heard: number[] = [];
  const { url } = await serve(t, (app) => {
    app.filter((_res, change) => void heard.push(change));
    app.any('/*', (res) => void res.end());
  });
  const client = await RawClient.connect(url);
  await eventually(() => heard.length === 1);
  client.cut();
  await eventually(() => heard.length === 2);
  t.same(heard, [1, -1]);
});

t.test('a connection that a filter closes has gone before the filter returns', async (t) => {
  const heard: (number | string)[] = [];
  const { url } = await serve(t, (app) => {
    app.filter((res, change) => {
      heard.push(change);
      if (change < 0) return;
      res.close();
      heard.push('closed');
    });
    app.any('/*', (res) => void res.end());
  });
  t.equal(await rawCall(url, 'GET', '/', []), undefined);
  t.same(heard, [1, -1, 'closed']);
});

t.test('a filter never hears that a WebSocket has gone', async (t) => {
  const heard: (number | string)[] = [];
  const { url } = await serve(t, (app) => {
    app.filter((_res, change) => void heard.push(change));
    app.ws('/', { close: () => void heard.push('close') });
  });
  for (const endsIt of ['close', 'terminate'] as const) {
    heard.length = 0;
    const client = new WebSocket(url.replace('http', 'ws'));
    await once(client, 'open');
    client[endsIt]();
    await eventually(() => heard.includes('close'));
    const last = await RawClient.connect(url);
    await eventually(() => heard.length > 2);
    t.same(heard, [1, 'close', 1]);
    last.cut();
    await eventually(() => heard.length > 3);
  }
});
