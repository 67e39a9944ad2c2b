/** Builds the responses of one operation for the document: its success, and its errors by status. */
import { STATUS_CODES } from 'node:http';
import { errors, type ErrorCode } from '../errors.js';
import type { Operation, Route } from '../routes.js';
import { exampleBody } from './error-bodies.js';
import {
  headerKey,
  headersOfErrors,
  headersOfStatus,
  type HeaderName,
  type HeaderSet,
} from './headers.js';
import { errorsOf, operations, type OperationText } from './operations.js';
import { References } from './references.js';

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

function contentOf(body: NonNullable<OperationText['success']['body']>): object {
  if (body === 'object') return { 'application/json': { schema: { type: 'object' } } };
  if (body !== 'event-stream') return { 'application/json': { schema: References.to(body) } };
  const events = { type: 'array', items: References.to('ServerSentEvent') };
  return {
    'text/event-stream': {
      schema: { type: 'string', contentMediaType: 'text/event-stream', contentSchema: events },
    },
  };
}

function failure(route: Route, status: number, codes: readonly ErrorCode[]): object {
  return {
    description: `${STATUS_CODES[status] ?? ''}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headersIn({ ...headersOfStatus(route, status), ...headersOfErrors(codes) }),
    content: {
      'application/json': {
        schema: References.to(route.envelope === 'v1' ? 'Error' : 'LegacyError'),
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: exampleBody(route.envelope, code) }]),
        ),
      },
    },
  };
}

function headersIn(set: HeaderSet): object {
  return Object.fromEntries(
    (Object.entries(set) as [HeaderName, boolean][]).map(([name, always]) => [
      name,
      { $ref: `#/components/headers/${headerKey(name, always)}` },
    ]),
  );
}
