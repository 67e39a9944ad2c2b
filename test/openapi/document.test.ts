import { readFileSync } from 'node:fs';
import t from 'tap';
import { eventDataFields } from '../../src/events/event-data.js';
import { errors } from '../../src/errors.js';
import { limitNames } from '../../src/limits.js';
import { createOpenApiDocument } from '../../src/openapi/document.js';
import { proxyErrors } from '../../src/openapi/proxy-errors.js';
import { shippedPlatforms } from '../../src/platforms.js';
import { routes } from '../../src/routes.js';
import { shippedLimits } from '../support/shipped-limits.js';

const documentOf = (limits = shippedLimits(), platforms = shippedPlatforms): any =>
  createOpenApiDocument({ limits, platforms, version: '1.2.3' });
const document = documentOf();
const schemas = document.components.schemas;

t.test('every route is an operation, and nothing else is', async (t) => {
  const operations = Object.entries<any>(document.paths).flatMap(([path, methods]) =>
    Object.entries<any>(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  t.same(
    operations.map(({ path, method, operation }) => [
      operation.operationId,
      `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
      operation.security,
    ]),
    routes.map(({ operation, method, path, credential, scope }) => [
      operation,
      `${method} ${path}`,
      credential === 'none' ? [] : [{ [credential]: scope === null ? [] : [scope] }],
    ]),
  );
});

t.test('path parameters are those of the path', async (t) => {
  for (const [path, methods] of Object.entries<any>(document.paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const { parameters } of Object.values<any>(methods)) {
      const named = parameters
        .map(({ $ref }: { $ref: string }) => document.components.parameters[$ref.split('/')[3]!])
        .filter((parameter: any) => parameter.in === 'path');
      t.same(
        named.map(({ name }: any) => name),
        inPath,
        path,
      );
    }
  }
});

t.test('every error stands under its own status, in an envelope of its route', async (t) => {
  const documented = new Set<string>();
  for (const route of routes) {
    const operation = document.paths[route.path.replace(/:(\w+)/g, '{$1}')];
    const { responses } = operation[route.method.toLowerCase()];
    for (const [status, { content }] of Object.entries<any>(responses)) {
      const { schema, examples = {} } = content?.['application/json'] ?? {};
      for (const [code, { value }] of Object.entries<any>(examples)) {
        if (code in proxyErrors) {
          t.match(value, { error: { code } });
          continue;
        }
        documented.add(code);
        t.equal(errors[code as keyof typeof errors].status, Number(status), code);
        t.match(value, route.envelope === 'v1' ? { error: { code } } : { code });
        const shapes = route.envelope === 'v1' ? /[/]ApiError$/ : /[/](LegacyError|AnyError)$/;
        t.match(schema.$ref, shapes);
      }
    }
  }
  const others = Object.keys(errors).filter((code) => !documented.has(code));
  t.same(
    others,
    ['not_found', 'method_not_allowed', 'upgrade_required'],
    'only what answers outside of the operations is in none of them',
  );
});

t.test('a message names no field that its answer does not have', async (t) => {
  for (const methods of Object.values<any>(document.paths)) {
    for (const { operationId, responses } of Object.values<any>(methods)) {
      for (const { content } of Object.values<any>(responses)) {
        const { examples = {} } = content?.['application/json'] ?? {};
        for (const [code, { value }] of Object.entries<any>(examples)) {
          const body = value.error ?? value;
          for (const [field] of body.message.matchAll(/\b(?:details|errors|traceId)\b/g)) {
            t.ok(field in body, `${operationId}: ${code} names ${field}`);
          }
        }
      }
    }
  }
});

t.test(
  'the codes of the proxy in front are those of its configuration, and none of the gateway’s',
  async (t) => {
    const configuration = readFileSync(
      new URL('../../../ops/haproxy/signalbox.cfg', import.meta.url),
      'utf8',
    );
    const configured = [...configuration.matchAll(/status (\d+) .*"code":"(\w+)"/g)]
      .map(([, status, code]) => `${status} ${code}`)
      .filter((answer) => answer !== '400 bad_request');
    t.match(document.info.description, '400 `bad_request`', 'a code of both, which is in no table');
    const told = Object.entries<any>(document['x-proxy-errors']).flatMap(([code, { statuses }]) =>
      statuses.map((status: number) => `${status} ${code}`),
    );
    t.same(told.sort(), configured.sort());
    for (const code of Object.keys(document['x-proxy-errors'])) t.notOk(code in errors, code);
  },
);

t.test('the limits in force stand in the schemas and in x-limits', async (t) => {
  const limits = shippedLimits({
    signalIdLengthMax: 21,
    ttlMsMax: 22,
    instanceIdLengthMax: 23,
    keyNameLengthMax: 24,
    idempotencyKeyLengthMax: 25,
    streamInstanceIdLengthMax: 26,
    streamAccountNameLengthMax: 27,
    lastEventIdLengthMax: 48,
    rawTextLengthMax: 29,
  });
  const { components, 'x-limits': told } = documentOf(limits);
  const envelope = components.schemas.SignalEnvelope.properties;
  t.equal(envelope.signalId.maxLength, 21);
  t.equal(envelope.ttlMs.maximum, 22);
  t.equal(envelope.instanceId.maxLength, 23);
  t.equal(components.schemas.KeyRequest.properties.name.maxLength, 24);
  const { parameters } = components;
  t.equal(parameters['Idempotency-Key'].schema.maxLength, 25);
  t.equal(parameters.instanceId.schema.maxLength, 26);
  t.equal(parameters.accountName.schema.maxLength, 27);
  t.equal(parameters['Last-Event-ID'].schema.maxLength, 48);
  t.equal(components.schemas.OrderUpdateEvent.properties.rawText.maxLength, 29);
  t.same(Object.keys(told), limitNames);
  for (const name of limitNames) t.equal(told[name].value, limits[name], name);
});

t.test('the version of an envelope is an integer, and so it is in typed clients', async (t) => {
  t.match(schemas.SignalEnvelope.properties.v, { type: 'integer', const: 1 });
});

t.test('the platforms in force are named', async (t) => {
  const { info } = documentOf(shippedLimits(), [{ token: 'desk_x', account: 'named' }]);
  t.match(info.description, '`desk_x`');
  t.notMatch(info.description, '`terminal_a`');
});

t.test('a shape stands once, and is referred to wherever it is part of another', async (t) => {
  const to = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  t.same(schemas.SignalStatus.properties.executions.items, to('Execution'));
  t.same(schemas.Execution.properties.fills.items, to('Fill'));
  t.same(schemas.Execution.properties.cancel.anyOf[0], to('Cancel'));
  t.same(schemas.ApiKeyList.items, to('ApiKey'));
  t.same(schemas.CommandResult.anyOf[0], to('Execution'));
});

t.test('each kind of event has a shape with its fields, any of which may be null', async (t) => {
  for (const [name, fields] of Object.entries(eventDataFields)) {
    const kind = name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const { properties } = schemas[kind].anyOf?.[1] ?? schemas[kind];
    t.same(Object.keys(properties), Object.keys(fields), kind);
    for (const field of Object.values<any>(properties)) t.equal(field.type[1], 'null');
  }
  t.notMatch(JSON.stringify(document), /"nullable"/, 'a word that OpenAPI 3.1 does not know');
});

t.test('every operation has the answers of a proxy in front, under their statuses', async (t) => {
  for (const methods of Object.values<any>(document.paths)) {
    for (const { operationId, responses } of Object.values<any>(methods)) {
      for (const [code, { statuses }] of Object.entries(proxyErrors)) {
        for (const status of statuses) {
          const answer = responses[status];
          const key = answer?.$ref?.replace('#/components/responses/', '');
          const { content } = key === undefined ? answer : document.components.responses[key];
          const { examples } = content['application/json'];
          t.ok(code in examples, `${operationId} ${status} ${code}`);
          t.notMatch(answer.headers?.['X-Trace-Id'], { $ref: /[/]X-Trace-Id$/ }, 'may be missing');
        }
      }
    }
  }
});

t.test('enumerations are named and shared, and those in answers are open', async (t) => {
  const names = new Map<string, string>();
  for (const [name, { enum: values }] of Object.entries<any>(schemas)) {
    if (values === undefined) continue;
    t.equal(names.get(`${values}`), undefined, `${name} is another’s`);
    names.set(`${values}`, name);
    if (!name.startsWith('Known')) continue;
    const open = [{ $ref: `#/components/schemas/${name}` }, { type: 'string' }];
    t.same(schemas[name.replace('Known', '')].anyOf, open, name);
  }
  const others = Object.entries<any>(schemas).filter(([, schema]) => schema.enum === undefined);
  t.notMatch(JSON.stringify(others), '"enum"', 'none stands in another schema');
  t.ok(names.size > 10);
});

t.test('the kind of an event tells its shape, and only its own', async (t) => {
  const { oneOf, discriminator } = schemas.TerminalEvent;
  t.equal(discriminator.propertyName, 'event');
  t.same(Object.keys(discriminator.mapping), Object.keys(eventDataFields));
  t.same(
    oneOf.map(({ $ref }: any) => $ref),
    Object.values(discriminator.mapping),
  );
  for (const [name, ref] of Object.entries<string>(discriminator.mapping)) {
    const { properties, required } = schemas[ref.split('/').at(-1)!];
    t.equal(properties.event.const, name);
    t.ok(required.includes('event'));
  }
});
