/** Types generated from the document against those of the bot client, by the compiler. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import t from 'tap';
import ts from 'typescript';
import { apiDocument, withKnownValues } from '../support/api-document.js';

const client = fileURLToPath(new URL('../../src/client/', import.meta.url));
// The client's types name the statuses of its own version, and allow others.
const generated = astToString(await openapiTS(withKnownValues(apiDocument) as OpenAPI3));

/** @returns the program of a bot that uses both kinds of types, with `lines` at its end. */
function programOf(lines: string): string {
  return `
import type { Acceptance, SignalDraft } from '${client}signal.js';
import type { CancelAcceptance } from '${client}cancel.js';
import type { ExecutionView, SignalStatus } from '${client}signal-status.js';
import type { SourceName, TerminalSource } from '${client}sources.js';
import type { ReplayGap, TerminalEventData } from '${client}terminal-event.js';
import type { components, operations } from './api.js';

type Api = components['schemas'];
type Settable<T> = T extends readonly (infer I)[]
  ? Settable<I>[]
  : T extends object ? { -readonly [K in keyof T]: Settable<T[K]> } : T;
const into = <T>(value: T): T => value;
declare function some<T>(): T;

${lines}
`;
}

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
};
const host = ts.createCompilerHost(options);
const getSourceFile = host.getSourceFile.bind(host);
const library = new Map<string, ts.SourceFile | undefined>();
// All programs share the language's own types: parsing them takes longer than checking the rest.
host.getSourceFile = (name, ...settings) => {
  if (!/[/]lib[.].*[.]d[.]ts$/.test(name)) return getSourceFile(name, ...settings);
  if (!library.has(name)) library.set(name, getSourceFile(name, ...settings));
  return library.get(name);
};

/** @returns the compiler's complaints. */
function complaintsOf(directory: string, lines: string): string[] {
  writeFileSync(`${directory}/api.ts`, generated);
  writeFileSync(`${directory}/package.json`, '{"type":"module"}');
  const file = `${directory}/bot.ts`;
  writeFileSync(file, programOf(lines));
  const program = ts.createProgram([file], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

t.test('what the API answers is what the client promises its caller', async (t) => {
  const complaints = complaintsOf(
    t.testdir(),
    `
into<SignalStatus>(some<Api['SignalStatus']>());
into<ExecutionView>(some<Api['Execution']>());
into<Omit<Acceptance, 'idempotencyKey' | 'replayed'>>(some<Api['AcceptedSignal']>());
into<Omit<CancelAcceptance, 'idempotencyKey' | 'replayed'>>(some<Api['RequestedCancel']>());
into<TerminalSource>(some<Api['Source']>());
into<Omit<TerminalEventData, 'data'>>(some<Omit<Api['TerminalEvent'], 'data'>>());
into<Pick<ReplayGap, 'reason'>>(some<Api['ReplayGap']>());
`,
  );
  t.same(complaints, []);
});

t.test('what the client promises is no more than the API answers', async (t) => {
  const complaints = complaintsOf(
    t.testdir(),
    `
type Open<T> = Omit<T, 'reasonCode' | 'cancel' | 'fills'>;
into<Open<Api['Execution']>>(some<Settable<Open<ExecutionView>>>());
into<Omit<Api['SignalStatus'], 'executions'>>(some<Settable<Omit<SignalStatus, 'executions'>>>());
into<Api['Fill'][]>(some<Settable<ExecutionView['fills']>>());
into<Omit<Api['Cancel'], 'reasonCode'>>(
  some<Omit<NonNullable<ExecutionView['cancel']>, 'reasonCode'>>(),
);
into<Api['AcceptedSignal']>(some<Acceptance>());
into<Api['RequestedCancel']>(some<CancelAcceptance>());
into<Omit<Api['Source'], 'capabilities'>>(some<TerminalSource>());
`,
  );
  t.same(complaints, []);
});

t.test('what the client sends is what the API takes', async (t) => {
  const complaints = complaintsOf(
    t.testdir(),
    `
type Filled = SignalDraft & Required<Pick<SignalDraft, 'v' | 'signalId' | 'ts'>>;
into<Omit<Api['SignalEnvelope'], 'payload'>>(some<Omit<Filled, 'payload'>>());
into<SignalDraft>(some<Api['SignalEnvelope']>());
into<operations['stream-events']['parameters']['query']>(some<SourceName>());
into<SourceName>(some<operations['stream-events']['parameters']['query']>());
`,
  );
  t.same(complaints, []);
});

t.test('the compiler finds what does not fit', async (t) => {
  const lines = `into<ExecutionView>(some<Omit<Api['Execution'], 'delivery'>>());`;
  t.match(complaintsOf(t.testdir(), lines), [/delivery/]);
});
