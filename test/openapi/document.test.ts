import t from 'tap';
import { eventDataFields } from '../../src/events/event-data.js';
import { errors } from '../../src/errors.js';
import { limitNames } from '../../src/limits.js';
import { createOpenApiDocument } from '../../src/openapi/document.js';
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
        documented.add(code);
        t.equal(errors[code as keyof typeof errors].status, Number(status), code);
        t.match(value, route.envelope === 'v1' ? { error: { code } } : { code });
        t.equal(
          schema.$ref,
          `#/components/schemas/${route.envelope === 'v1' ? 'Error' : 'LegacyError'}`,
        );
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
  t.equal(components.schemas.TerminalEvent.properties.rawText.anyOf[0].maxLength, 29);
  t.same(Object.keys(told), limitNames);
  for (const name of limitNames) t.equal(told[name].value, limits[name], name);
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
    for (const field of Object.values<any>(properties)) t.same(field.anyOf[1], { type: 'null' });
  }
  t.notMatch(JSON.stringify(document), /"nullable"/, 'a word that OpenAPI 3.1 does not know');
});
