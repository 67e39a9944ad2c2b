/**
 * Judges answers by the API's document: a gateway may answer nothing that is not documented. Headers
 * that the document does not name count as mismatches too.
 */
import { proxyErrors } from '../../src/openapi/proxy-errors.js';
import { pluginPath } from '../../src/plugins/protocol.js';
import { apiDocument, mismatchOfValue } from './api-document.js';

export interface SeenRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
}

export interface SeenAnswer {
  /** Undefined where a test sends bytes that are not one request each: the answer of any operation fits. */
  readonly request: SeenRequest | undefined;
  readonly status: number;
  /** Undefined for a header that is not there. */
  readonly header: (name: string) => string | undefined | null;
  /** All names, in any case. */
  readonly headerNames: Iterable<string>;
  /** Undefined where it was not read: a HEAD, a stream. */
  readonly text: string | undefined;
  readonly requestBody?: string | undefined;
}

interface Documented {
  readonly headers: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<
    Record<string, { readonly schema: object; readonly examples?: object }>
  >;
}

interface OperationObject {
  readonly operationId: string;
  readonly requestBody?: { readonly content: { 'application/json': { readonly schema: object } } };
  readonly responses: Readonly<Record<string, Documented>>;
}

/** An answer of a proxy may lack it, an answer of the gateway never. */
const traceHeader = 'X-Trace-Id';
/** Written by the native server, or about the connection. */
const transport = ['content-length', 'date', 'uwebsockets', 'connection', 'keep-alive'];
const unnamed = new Set([...transport, 'content-type', 'transfer-encoding']);
/** What a path or method outside the document gets, by status. */
const refusals: Readonly<Record<number, string>> = {
  400: 'bad_request',
  404: 'not_found',
  405: 'method_not_allowed',
  417: 'expectation_failed',
  426: 'upgrade_required',
};

const paths = Object.entries(apiDocument.paths).map(([template, methods]) => ({
  pattern: new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  methods: methods as Readonly<Record<string, OperationObject>>,
}));

/** @returns what is wrong with the answer, or undefined. */
export function mismatchOf(answer: SeenAnswer): string | undefined {
  const { request, status } = answer;
  if (request === undefined) return mismatchAnywhere(answer);
  // Upgrades are the plugin protocol's, and so are their refusals.
  if (request.path.split('?', 1)[0] === pluginPath) return undefined;
  const found = operationOf(request);
  const wrong =
    found === undefined
      ? inRefusal(answer, envelopeOf(request))
      : (inOperation(answer, found) ?? inEnvelope(answer, envelopeOf(request)));
  return wrong && `${request.method} ${request.path.replace(/\?.*/s, '')} → ${status}: ${wrong}`;
}

/** @returns what is wrong with a request body that the gateway has taken, or undefined. */
export function mismatchOfRequest(request: SeenRequest, body: string): string | undefined {
  if (body === '') return undefined;
  const schema = operationOf(request)?.requestBody?.content['application/json'].schema;
  return (
    schema &&
    mismatchOfValue(schema, trimmed(parse(body)), `the body of ${request.path}`, 'api:open')
  );
}

/** The gateway trims these two before it looks at them. */
function trimmed(body: unknown): unknown {
  const { name, email } = body as Partial<Record<'name' | 'email', unknown>>;
  return {
    ...(body as object),
    ...(typeof name === 'string' && { name: name.trim() }),
    ...(typeof email === 'string' && { email: email.trim() }),
  };
}

/** @returns what is wrong with an event of a stream, or undefined. */
export function mismatchOfEvent(name: string, data: unknown): string | undefined {
  if (name === 'replay_gap') return mismatchOfValue(refTo('ReplayGap'), data, name);
  const kind = name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (!Object.hasOwn(apiDocument.components['schemas'] as object, kind)) return `no event ${name}`;
  return (
    mismatchOfValue(refTo('TerminalEvent'), data, name) ??
    mismatchOfValue(refTo(kind), (data as { data: unknown }).data, `data of ${name}`)
  );
}

function mismatchAnywhere(answer: SeenAnswer): string | undefined {
  const operations = paths.flatMap(({ methods }) => Object.values(methods));
  const isKnown =
    operations.some((operation) => inOperation(answer, operation) === undefined) ||
    (['ApiError', 'LegacyError'] as const).some((shape) => inRefusal(answer, shape) === undefined);
  return isKnown ? undefined : `${answer.status} as no operation answers: ${answer.text ?? ''}`;
}

function operationOf({ method, path }: SeenRequest): OperationObject | undefined {
  const plain = path.replace(/[?#].*/s, '');
  // Methods are case-sensitive: `get` is none.
  const word = method === 'HEAD' ? 'get' : /[a-z]/.test(method) ? '' : method.toLowerCase();
  return paths.find(({ pattern }) => pattern.test(plain))?.methods[word];
}

function inOperation(answer: SeenAnswer, operation: OperationObject): string | undefined {
  const documented = operation.responses[answer.status];
  // Shared answers are those of a proxy in front.
  if (documented === undefined || '$ref' in documented) {
    return `${operation.operationId} has no such status`;
  }
  return inHeaders(answer, documented) ?? inBody(answer, documented);
}

function inHeaders(answer: SeenAnswer, { headers }: Documented): string | undefined {
  for (const [name, { $ref }] of Object.entries(headers)) {
    const value = answer.header(name) ?? undefined;
    const { required, schema } = headerAt($ref);
    if (value === undefined && (required || name === traceHeader))
      return `the header ${name} is missing`;
    if (value === undefined) continue;
    const typed = schema.type === 'integer' && /^[0-9]+$/.test(value) ? Number(value) : value;
    const wrong = mismatchOfValue({ $ref: `${$ref}/schema` }, typed, `the header ${name}`);
    if (wrong !== undefined) return wrong;
  }
  const named = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const other = [...answer.headerNames]
    .map((name) => name.toLowerCase())
    .find((name) => !named.has(name) && !unnamed.has(name));
  return other === undefined ? undefined : `the header ${other} is not documented`;
}

function inBody(answer: SeenAnswer, { content }: Documented): string | undefined {
  const type = (answer.header('content-type') ?? '').replace(/;.*/, '');
  if (content === undefined) return (answer.text ?? '') === '' ? undefined : 'a body';
  const documented = content[type];
  if (documented === undefined) return `the content type ${type || 'none'} is not documented`;
  if (answer.text === undefined || type !== 'application/json') return undefined;
  const body = parse(answer.text);
  const wrong = mismatchOfValue(documented.schema, body, 'the body');
  if (wrong !== undefined || documented.examples === undefined) return wrong;
  const code = codeOf(body);
  return Object.hasOwn(documented.examples, code) && !Object.hasOwn(proxyErrors, code)
    ? undefined
    : `the code ${code} is not documented`;
}

/** A proxy's errors are all of one shape, so that the document allows it at every path. */
function inEnvelope({ status, text }: SeenAnswer, shape: string): string | undefined {
  if (status < 400 || text === undefined) return undefined;
  return mismatchOfValue(refTo(shape), parse(text), 'the body');
}

function inRefusal(answer: SeenAnswer, shape: string): string | undefined {
  const code = refusals[answer.status];
  if (code === undefined) return 'no operation has this path and method';
  if (answer.status === 405 && (answer.header('allow') ?? '') === '') return 'Allow is missing';
  if (answer.text === undefined) return undefined;
  const body = parse(answer.text);
  const wrong = mismatchOfValue(refTo(shape), body, 'the body');
  return wrong ?? (codeOf(body) === code ? undefined : `the code is not ${code}`);
}

function envelopeOf({ path }: SeenRequest): string {
  return /^\/api\/v1(?:[/?]|$)/.test(path) ? 'ApiError' : 'LegacyError';
}

function codeOf(body: unknown): string {
  const { code, error } = (body ?? {}) as { code?: string; error?: { code?: string } };
  return error?.code ?? code ?? '';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function headerAt(ref: string): { required: boolean; schema: { type: string } } {
  const name = ref.replace('#/components/headers/', '');
  return apiDocument.components['headers']?.[name] as ReturnType<typeof headerAt>;
}

function refTo(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}
