/**
 * The peer of the `submit` bench: POST /api/v1/signals of the same contract on Fastify and
 * better-sqlite3, as a good engineer would write it with these two: hooks for key and limit, Fastify's
 * own schema validation, prepared statements, one durable transaction a request, no log.
 *
 *   node bench/peers/fastify-sqlite.js --data-dir DIR --population FILE
 *
 * Order of checks: key → limit → plan → scope → body → idempotency → envelope → signalId → quotas.
 */
import { isUtf8 } from 'node:buffer';
import { hash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Fastify from 'fastify';
import { AccountQuota } from './account-quota.js';
import { createAdmission } from './admission.js';
import { createAcceptance } from './acceptance.js';
import { detailsOf, envelopeSchema, isTooDeep, untimelyDetails } from './signal-envelope.js';
import { openSqliteStore } from './sqlite-store.js';

const { values: given } = parseArgs({
  options: { 'data-dir': { type: 'string' }, population: { type: 'string' } },
});

const bodyBytesMax = 65_536;
const controlCharacter = /[\u0000-\u001f\u007f]/;
const traceparentPattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

const population = JSON.parse(readFileSync(given.population, 'utf8'));
const { plans } = population;
const store = openSqliteStore(join(given['data-dir'], 'peer.sqlite'));
store.fill(population);
const quota = new AccountQuota(store);
const accept = createAcceptance(store);

const tracePrefix = randomBytes(8).toString('hex');
let traceCount = 0;

const app = Fastify({
  logger: false,
  bodyLimit: bodyBytesMax,
  forceCloseConnections: true,
  genReqId: ({ headers }) =>
    traceparentPattern.exec(headers.traceparent ?? '')?.[1] ??
    tracePrefix + (traceCount++).toString(16).padStart(16, '0'),
  ajv: {
    customOptions: {
      allErrors: true,
      coerceTypes: false,
      removeAdditional: false,
      useDefaults: false,
      unicode: false,
    },
  },
});

function refuse(reply, status, code, details) {
  return reply.code(status).send({
    error: { code, message: code, traceId: reply.request.id, ...(details && { details }) },
  });
}

app.decorateRequest('caller', null);
app.decorateRequest('fingerprint', '');
app.decorateRequest('idempotencyKey', '');

app.removeAllContentTypeParsers();
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
  request.fingerprint = hash('sha256', bytes, 'base64url');
  try {
    if (!isUtf8(bytes)) throw new SyntaxError('not UTF-8');
    const body = JSON.parse(bytes.toString());
    if (isTooDeep(body)) throw new SyntaxError('too deep');
    done(null, body);
  } catch (error) {
    error.statusCode = 400;
    done(error);
  }
});

app.setErrorHandler((error, request, reply) => {
  if (error.validation !== undefined) {
    return refuse(reply, 422, 'invalid_signal', detailsOf(error.validation));
  }
  switch (error.statusCode) {
    case 400:
      return refuse(reply, 400, 'malformed_json');
    case 413:
      return refuse(reply, 413, 'request_body_too_large');
    case 415:
      return refuse(reply, 415, 'unsupported_media_type');
    default:
      return refuse(reply, 500, 'internal_error');
  }
});

/** Node joins doubled headers: only the raw list tells them from one. */
function readIdempotencyKey({ rawHeaders }) {
  let value;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i].length !== 15 || rawHeaders[i].toLowerCase() !== 'idempotency-key') continue;
    if (value !== undefined) return undefined;
    value = rawHeaders[i + 1].trim();
  }
  const isValid =
    value !== undefined && value !== '' && value.length <= 128 && !controlCharacter.test(value);
  return isValid ? value : undefined;
}

function answer(reply, requestId, body) {
  reply.code(202).header('Location', `/api/v1/signals/${requestId}`);
  return reply.type('application/json; charset=utf-8').send(body);
}

app.post(
  '/api/v1/signals',
  {
    schema: { body: envelopeSchema },
    onRequest: createAdmission({ store, plans, refuse, scope: 'signals:write' }),
    preParsing: (request, reply, payload, done) => {
      const key = readIdempotencyKey(request.raw);
      if (key === undefined) return refuse(reply, 400, 'invalid_idempotency_key');
      request.idempotencyKey = key;
      done();
    },
    preValidation: (request, reply, done) => {
      const known = store.findIdempotency(request.caller.userId, request.idempotencyKey);
      if (known === undefined || known.expiresAt <= Date.now()) return done();
      if (known.fingerprint !== request.fingerprint) {
        return refuse(reply, 409, 'idempotency_conflict');
      }
      reply.header('Idempotent-Replayed', 'true');
      return answer(reply, known.requestId, known.answer);
    },
  },
  (request, reply) => {
    const { caller, body: envelope } = request;
    if (caller.frozen === 1) return refuse(reply, 403, 'account_frozen');
    const details = untimelyDetails(envelope, Date.now());
    if (details !== undefined) return refuse(reply, 422, 'invalid_signal', details);
    if (store.isSignalIdTaken(caller.userId, envelope.signalId)) {
      return refuse(reply, 409, 'duplicate_signal_id');
    }
    const verdict = quota.take(caller.userId, plans[caller.plan]);
    if (verdict.code !== undefined) {
      reply.header('Retry-After', verdict.retryAfter);
      return refuse(reply, 429, verdict.code);
    }
    const accepted = accept({
      userId: caller.userId,
      envelope,
      idempotencyKey: request.idempotencyKey,
      fingerprint: request.fingerprint,
      signalsToday: verdict.signalsToday,
    });
    return answer(reply, accepted.requestId, accepted.answer);
  },
);

process.once('SIGTERM', () => {
  void app.close().then(() => {
    store.close();
    process.exit();
  });
});
console.log(JSON.stringify({ url: await app.listen({ host: '127.0.0.1', port: 0 }) }));
