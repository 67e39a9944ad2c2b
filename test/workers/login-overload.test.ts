/** What happens when more logins come than passwords can be hashed. */
import { availableParallelism } from 'node:os';
import t from 'tap';
import { get, post, signal, submit, verdict } from '../support/api.js';
import { password } from '../support/gateway-process.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);

t.test(
  'with the hash queue full login answers 503, and everything else goes on answering',
  async (t) => {
    const { email, key } = await gateway.user();
    // Gives the user a hash as slow as a real one; the API key stays valid.
    await gateway.commandWithInput(`${password}\n`, 'user', 'set', email, '--password-stdin');
    const logins = Array.from({ length: 150 + 4 * availableParallelism() }, (_, index) =>
      post(gateway.url, '/api/auth/login', {
        email: index % 2 === 0 ? email : 'nobody@example.com',
        password,
      }),
    );
    let loggedIn = 0;
    for (const login of logins)
      void login.then(({ status }) => (loggedIn += status === 200 ? 1 : 0));

    const refused = await Promise.race(
      logins.map(async (login) => {
        const answer = await login;
        return answer.status === 503 ? answer : new Promise<never>(() => undefined);
      }),
    );
    t.equal(verdict(refused), '503 login_unavailable');
    t.same(Object.keys(refused.body), ['code', 'message']);
    t.ok(Number(refused.headers.get('retry-after')) >= 1);

    t.equal((await submit(gateway.url, key, signal())).status, 202);
    t.equal((await get(gateway.url, '/api/v1/terminal-events/sources', key)).status, 200);
    const loggedInBefore = loggedIn;

    const verdicts = (await Promise.all(logins)).map(verdict);
    const known = verdicts.filter((_, index) => index % 2 === 0);
    const unknown = verdicts.filter((_, index) => index % 2 === 1);
    t.same([...new Set(known)].sort(), ['200', '503 login_unavailable']);
    t.same(
      [...new Set(unknown)].sort(),
      ['401 invalid_credentials', '503 login_unavailable'],
      'an unknown email waits for the same threads, so that nothing tells it from a known one',
    );
    const admitted = verdicts.filter((text) => !text.startsWith('503')).length;
    t.ok(admitted >= 64, `${admitted} were admitted and all of them served`);
    t.ok(loggedInBefore < admitted, 'the others were answered while logins still waited');
    t.equal(
      verdict(await post(gateway.url, '/api/auth/login', { email, password })),
      '200',
      'and it recovers',
    );
  },
);
