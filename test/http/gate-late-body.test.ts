import t from 'tap';
import { signal } from '../support/api.js';
import { RawClient } from '../support/raw-client.js';
import { startTestGateway } from '../support/gateway.js';

t.test('what changes between a head and its body takes effect', async (t) => {
  const gateway = await startTestGateway(t);
  const changes = {
    'the account is frozen': {
      status: 403,
      change: (email: string) => gateway.command('user', 'set', email, '--frozen', 'true'),
    },
    'the key is revoked': {
      status: 401,
      change: (_: string, keyId: number) => gateway.command('key', 'revoke', String(keyId)),
    },
    'the plan loses the Public API': {
      status: 403,
      change: (email: string) => gateway.command('user', 'set', email, '--plan', 'basic'),
    },
    'nothing changes': { status: 202, change: () => undefined },
  };
  for (const [name, { status, change }] of Object.entries(changes)) {
    const { email, key, keyId } = await gateway.user();
    const client = await RawClient.connect(gateway.url);
    const body = JSON.stringify(signal());
    await client.send(
      'POST /api/v1/signals HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
        `Authorization: Bearer ${key}\r\nIdempotency-Key: late\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    await change(email, keyId);
    await client.send(body);
    t.equal((await client.answer())?.status, status, name);
    client.cut();
  }
});
