/**
 * Builds the responses of one operation for the document: its success, and its errors by status. Those that only a
 * proxy in front gives are the same for all operations.
 */
import { STATUS_CODES } from 'node:http';
import { errors, type ErrorCode } from '../errors.js';
import type { Envelope, Operation, Route } from '../routes.js';
import { type AnyErrorCode, exampleBody } from './error-bodies.js';
import {
  headerKey,
  headersOfErrors,
  headersOfStatus,
  type HeaderName,
  type HeaderSet,
} from './headers.js';
import { errorsOf, operations, type OperationText } from './operations.js';
import { proxyErrors, type ProxyErrorCode } from './proxy-errors.js';
import { References } from './references.js';
import type { SchemaName } from './schemas.js';

/** By status, in ascending order. */
export function answersOf(route: Route): Record<string, object> {
  const { success }: OperationText = operations[route.operation as Operation];
  const codes = errorsOf(route);
  const statuses = [...new Set(codes.map((code) => errors[code].status))].sort((a, b) => a - b);
  return {
    [success.status]: {
      description: success.description,
      headers: headersIn({ ...headersOfStatus(route, success.status), ...success.headers }),
      ...(success.body !== null && { content: contentOf(success.body) }),
    },
    ...Object.fromEntries(
      proxyStatuses.map((status) => [
        status,
        { $ref: `#/components/responses/${proxyAnswerKey(status)}` },
      ]),
    ),
    ...Object.fromEntries(
      statuses.map((status) => [
        status,
        failure(
          route,
          status,
          codes.filter((code) => errors[code].status === status),
        ),
      ]),
    ),
  };
}

const proxyCodes = Object.keys(proxyErrors) as ProxyErrorCode[];
const proxyStatuses = [...new Set(proxyCodes.flatMap((code) => proxyErrors[code].statuses))];

function proxyCodesOf(status: number): ProxyErrorCode[] {
  return proxyCodes.filter((code) =>
    (proxyErrors[code].statuses as readonly number[]).includes(status),
  );
}

/** 502 → `ProxyBadGateway`. */
function proxyAnswerKey(status: number): string {
  return `Proxy${(STATUS_CODES[status] ?? '').replace(/\W/g, '')}`;
}

/** A proxy's answers by key; statuses that the gateway answers with, too, are with the operations. */
export function proxyAnswers(): Record<string, object> {
  return Object.fromEntries(
    proxyStatuses.map((status) => {
      const codes = proxyCodesOf(status);
      return [
        proxyAnswerKey(status),
        {
          description: `${named(status, codes)} Only a proxy in front gives this answer.`,
          content: errorContent('ApiError', examplesOf('v1', codes)),
        },
      ];
    }),
  );
}

function contentOf(body: NonNullable<OperationText['success']['body']>): object {
  if (body === 'object') return { 'application/json': { schema: { type: 'object' } } };
  const type = body === 'StreamEvent' ? 'text/event-stream' : 'application/json';
  return { [type]: { schema: References.to(body) } };
}

function failure(route: Route, status: number, codes: readonly ErrorCode[]): object {
  const { envelope } = route;
  const fromProxy = proxyCodesOf(status);
  const own = envelope === 'v1' ? 'ApiError' : 'LegacyError';
  return {
    description:
      named(status, codes) +
      (fromProxy.length === 0
        ? ''
        : ` From a proxy in front, in the shape of ApiError: ${list(fromProxy)}.`),
    headers: headersIn({
      ...headersOfStatus(route, status),
      ...headersOfErrors(codes),
      ...(fromProxy.length > 0 && { 'X-Trace-Id': false }),
    }),
    content: errorContent(fromProxy.length > 0 && envelope === 'legacy' ? 'AnyError' : own, {
      ...examplesOf(envelope, codes),
      ...examplesOf('v1', fromProxy),
    }),
  };
}

function named(status: number, codes: readonly AnyErrorCode[]): string {
  return `${STATUS_CODES[status] ?? ''}: ${list(codes)}.`;
}

function list(codes: readonly AnyErrorCode[]): string {
  return codes.map((code) => `\`${code}\``).join(', ');
}

function errorContent(schema: SchemaName, examples: object): object {
  return { 'application/json': { schema: References.to(schema), examples } };
}

function examplesOf(envelope: Envelope, codes: readonly AnyErrorCode[]): object {
  return Object.fromEntries(codes.map((code) => [code, { value: exampleBody(envelope, code) }]));
}

function headersIn(set: HeaderSet): object {
  return Object.fromEntries(
    (Object.entries(set) as [HeaderName, boolean][]).map(([name, always]) => [
      name,
      { $ref: `#/components/headers/${headerKey(name, always)}` },
    ]),
  );
}
