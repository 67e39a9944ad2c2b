/** Ports and addresses: native-notes/binary.md (listening) and http-parser.md (who is the client). */
import t, { type Test } from 'tap';
import { createApp, listen, native, type us_listen_socket } from '../../src/http/uws.js';
import { StartRefused } from '../../src/store/refusal.js';
import { freePort } from '../support/free-port.js';
import { RawClient, request } from '../support/raw-client.js';

/** Listens with the package's default options. @returns the port; undefined if it cannot listen. */
function listenByDefault(t: Test, host: string, port: number): number | undefined {
  let socket: us_listen_socket | false = false;
  createApp(undefined).listen(host, port, (token) => {
    socket = token;
  });
  if (socket === false) return undefined;
  const open: us_listen_socket = socket;
  t.teardown(() => native.us_listen_socket_close(open));
  return native.us_socket_local_port(open);
}

t.test('by default two listeners share one port; our own has its port alone', async (t) => {
  const shared = await freePort();
  t.equal(listenByDefault(t, '127.0.0.1', shared), shared);
  t.equal(listenByDefault(t, '127.0.0.1', shared), shared, 'without a word');
  await t.rejects(listen(createApp(undefined), '127.0.0.1', shared), StartRefused);

  const own = await listen(createApp(undefined), '127.0.0.1', 0);
  t.teardown(() => own.close());
  t.equal(listenByDefault(t, '127.0.0.1', own.port), undefined);
});

t.test('a port that the native server chose itself is never shared', async (t) => {
  const port = listenByDefault(t, '127.0.0.1', 0) as number;
  t.equal(listenByDefault(t, '127.0.0.1', port), undefined);
});

async function serveAddresses(t: Test, host: string): Promise<string> {
  const app = createApp(undefined);
  app.get('/', (res) => {
    const hex = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('hex');
    res.end(`${hex(res.getRemoteAddress())} ${hex(res.getProxiedRemoteAddress())}`);
  });
  const listener = await listen(app, host, 0);
  t.teardown(() => {
    listener.close();
    app.close();
  });
  return `${listener.port}`;
}

async function addressesSeen(t: Test, url: string, before: Uint8Array[] = []): Promise<string> {
  const client = await RawClient.connect(url);
  t.teardown(() => client.cut());
  await client.send(Buffer.concat([...before, Buffer.from(request('GET', '/'))]));
  return (await client.answer())?.body ?? '';
}

t.test('an IPv4 client has 4 bytes on an IPv4 address, 16 mapped ones on ::', async (t) => {
  const mapped = '00000000000000000000ffff7f000001';
  const four = await serveAddresses(t, '127.0.0.1');
  t.equal(await addressesSeen(t, `http://127.0.0.1:${four}`), '7f000001 ');
  const both = await serveAddresses(t, '::');
  t.equal(await addressesSeen(t, `http://127.0.0.1:${both}`), `${mapped} `);
});

const proxySignature = '0d0a0d0a000d0a515549540a';
/** In hex, of a TCP connection over IPv4 from the address. */
const proxyHeader = (address: string): string =>
  `${proxySignature}2111000c${address}01010101000100aa`;

t.test('a PROXY v2 header is believed from anybody', async (t) => {
  const port = await serveAddresses(t, '127.0.0.1');
  const header = Buffer.from(proxyHeader('09080706'), 'hex');
  const seen = await addressesSeen(t, `http://127.0.0.1:${port}`, [header]);
  t.equal(seen, '7f000001 09080706');
});

t.test(
  'a PROXY v2 header counts before any request, and the latest replaces the others',
  async (t) => {
    const client = await RawClient.connect(
      `http://127.0.0.1:${await serveAddresses(t, '127.0.0.1')}`,
    );
    t.teardown(() => client.cut());
    const headers = {
      '': '7f000001 ',
      [proxyHeader('09080706')]: '7f000001 09080706',
      [proxyHeader('01020304')]: '7f000001 01020304',
      [`${proxySignature}20000000`]: '7f000001 ',
    };
    for (const [header, seen] of Object.entries(headers)) {
      await client.send(
        Buffer.concat([Buffer.from(header, 'hex'), Buffer.from(request('GET', '/'))]),
      );
      t.equal((await client.answer())?.body, seen);
    }
  },
);

t.test('closing the app cuts what waits for an answer, and its handler is told', async (t) => {
  const app = createApp(undefined);
  let aborted = false;
  const arrived = new Promise<void>((resolve) => {
    app.get('/', (res) => {
      res.onAborted(() => {
        aborted = true;
      });
      resolve();
    });
  });
  const listener = await listen(app, '127.0.0.1', 0);
  const client = await RawClient.connect(`http://127.0.0.1:${listener.port}`);
  await client.send(request('GET', '/'));
  await arrived;
  listener.close();
  t.notOk(aborted, 'closing the listener leaves it alone');
  app.close();
  t.equal(await client.closed(), '');
  t.ok(aborted);
});
