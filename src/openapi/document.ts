/**
 * Builds the OpenAPI 3.1 document from the tables and schemas that the gateway itself uses for routing,
 * validation, limits and responses, so that the two cannot differ. Plain JSON, deterministic for given limits
 * and platforms.
 */
import { type LimitName, limitNames, limits as limitTable, type Limits } from '../limits.js';
import type { Platform } from '../platforms.js';
import { type Operation, type Route, routes } from '../routes.js';
import { answersOf, proxyAnswers } from './answers.js';
import { headerComponents } from './headers.js';
import { operations, type OperationText, tags } from './operations.js';
import { proxyErrors } from './proxy-errors.js';
import { documentParameters } from './parameters.js';
import { References } from './references.js';
import { documentSchemas } from './schemas.js';

export interface DocumentDeps {
  readonly limits: Limits;
  readonly platforms: readonly Platform[];
  /** Of the product. */
  readonly version: string;
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  /** Operations by path and lower-case method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [field: string]: unknown;
}

export function createOpenApiDocument(deps: DocumentDeps): OpenApiDocument {
  const paths = pathsOf(routes);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signalbox',
      version: deps.version,
      summary: 'A self-hosted gateway between trading bots and trading terminals.',
      description: descriptionOf(deps),
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The gateway that serves this document.' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes,
      parameters: parameterComponents(deps.limits),
      headers: usedIn(paths, 'headers', headerComponents()),
      responses: usedIn(paths, 'responses', proxyAnswers()),
      schemas: new References(documentSchemas(deps.limits)).components(),
    },
    'x-limits': limitsOf(deps.limits),
    'x-proxy-errors': proxyErrors,
  };
}

function descriptionOf({ platforms }: DocumentDeps): string {
  const tokens = platforms.map(({ token }) => `\`${token}\``).join(', ');
  return [
    'Every GET also supports HEAD. Times are ISO 8601 in UTC.',
    'A path that is not in this document, except `/plugin/v1` of the terminal plugins, gets 404 `not_found`; a ' +
      'method that is not in it gets 405 `method_not_allowed` with an `Allow` header.',
    'The HTTP parser itself refuses a malformed head with 400, one of more than 4096 bytes or 98 headers with 431, and ' +
      'what is not HTTP/1.1 with 505, without JSON and without `X-Trace-Id`, and closes the connection.',
    'Enumerations in answers are open: `Known…` has the values of this version, and clients must accept others. The ' +
      'same holds for error codes and for the `event` of a terminal event.',
    'A proxy in front may answer in place of the gateway, with codes of its own: those of the shipped HAProxy ' +
      'configuration are among the responses, and in `x-proxy-errors`. It also answers 400 `bad_request`, as `ApiError` ' +
      'for every path and without `X-Trace-Id`.',
    `Platform tokens: ${tokens}. The effective limits are in \`x-limits\`.`,
  ].join('\n\n');
}

const securitySchemes = {
  'user-token': {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The `token` of a login response.',
  },
  'api-key': {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'svc_api_<SECRET>',
    description:
      'An API key. The description of each operation names the scope that the key needs.',
  },
} as const satisfies Record<Exclude<Route['credential'], 'none'>, object>;

function pathsOf(rows: readonly Route[]): OpenApiDocument['paths'] {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of rows) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  }
  return paths;
}

function operationOf(route: Route): object {
  const { credential, scope } = route;
  const text: OperationText = operations[route.operation as Operation];
  const { parameters = [], body } = text;
  const schema = body && References.to(body);
  return {
    operationId: route.operation,
    tags: [text.tag],
    summary: text.summary,
    description: scope === null ? text.description : `${text.description} Scope: \`${scope}\`.`,
    security: credential === 'none' ? [] : [{ [credential]: scope === null ? [] : [scope] }],
    parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...(schema && {
      requestBody: {
        required: text.bodyIsOptional !== true,
        content: { 'application/json': { schema } },
      },
    }),
    responses: answersOf(route),
  };
}

function parameterComponents(limits: Limits): Record<string, object> {
  const parameters = Object.entries(documentParameters(limits));
  return Object.fromEntries(parameters.map(([name, parameter]) => [name, { name, ...parameter }]));
}

/** Removes components without a reference. */
function usedIn(
  paths: object,
  kind: 'headers' | 'responses',
  components: Record<string, object>,
): Record<string, object> {
  const text = JSON.stringify(paths);
  const isUsed = ([key]: [string, object]): boolean => text.includes(`/${kind}/${key}"`);
  return Object.fromEntries(Object.entries(components).filter(isUsed));
}

function limitsOf(inForce: Limits): Record<LimitName, object> {
  return Object.fromEntries(
    limitNames.map((name) => {
      const { unit, why } = limitTable[name];
      return [name, { value: inForce[name], unit, description: why }];
    }),
  ) as Record<LimitName, object>;
}
