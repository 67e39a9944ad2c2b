import { Ajv } from 'ajv';
import t from 'tap';
import { requests } from '../../src/admin/requests.js';
import { keyRequestSchema } from '../../src/auth/api-key-request.js';
import { loginSchema } from '../../src/auth/login-request.js';
import { eventDataFields } from '../../src/events/event-data.js';
import { compileSchema } from '../../src/lib/schema.js';
import { gatewayFrames, pluginFrames } from '../../src/plugins/protocol.js';
import { envelopeSchema } from '../../src/signals/envelope.js';
import { shippedLimits } from '../support/shipped-limits.js';

t.test('every schema that the product compiles is valid', async (t) => {
  const ajv = new Ajv({ strict: true, unicode: false, logger: false });
  const limits = shippedLimits();
  const named: Record<string, object> = {
    ...requests,
    ...pluginFrames,
    ...gatewayFrames,
    login: loginSchema,
    keyRequest: keyRequestSchema(limits),
    envelope: envelopeSchema(limits),
  };
  for (const fields of Object.values(eventDataFields)) Object.assign(named, fields);
  for (const [name, schema] of Object.entries(named)) {
    t.equal(ajv.validateSchema(schema), true, name);
  }
  t.notOk(
    new Ajv({ logger: false }).validateSchema({ type: 'nothing' }),
    'an invalid one is found',
  );
});

t.test('lengths count UTF-16 code units', async (t) => {
  const isShort = compileSchema({ type: 'string', maxLength: 2 });
  t.equal(isShort('\u{1f600}'), true);
  t.equal(isShort('\u{1f600}a'), false);
});
