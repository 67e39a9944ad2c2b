import t from 'tap';
import { exposureOf } from '../../src/settings/exposure.js';
import { dataDirOf } from '../support/gateway.js';
import { startGateway } from '../support/gateway-process.js';

t.test('a port that others can reach without TLS is named, with what to do', async (t) => {
  for (const host of ['0.0.0.0', '::', '192.0.2.7', 'gateway.example.com', '128.0.0.1']) {
    t.match(
      exposureOf({ host, tlsCert: undefined }),
      /--tls-cert and --tls-key.*127\.0\.0\.1/,
      host,
    );
    t.equal(exposureOf({ host, tlsCert: 'cert.pem' }), undefined);
  }
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
    t.equal(exposureOf({ host, tlsCert: undefined }), undefined, host);
  }
});

t.test('the gateway says it at its start', async (t) => {
  const flags = ['--host', '0.0.0.0'];
  const gateway = await startGateway({ dataDir: dataDirOf(t), flags });
  await gateway.stop();
  t.match(gateway.log(), /"level":"warn".*0\.0\.0\.0 without TLS.*--tls-cert/);
});
