/**
 * Requests for an event stream, mutated in query, cursor or key, each with its answer by the
 * contract, whose checks have an order: the first that fails decides.
 */
import type { SourceName } from '../../../../src/model/source-name.js';
import type { Chance } from '../../chance.js';
import { request } from '../../../support/raw-client.js';
import { edgeCaseTexts } from '../plugins/schema-values.js';

export interface MutatedRequest {
  readonly bytes: string;
  /** The expected status, with the error code if there is one. */
  readonly due: string;
  /** Whether the first event must be a replay_gap; undefined if either is allowed. */
  readonly isGap: boolean | undefined;
}

const lengthMax = 128;
const cursorLengthMax = 80;
const epochOf = (cursor: string): string => cursor.split('-')[0] as string;

/** `newest`: the cursor of the user's newest event. */
export function mutatedRequest(
  source: SourceName,
  key: string,
  newest: string,
  chance: Chance,
): MutatedRequest {
  const parameters = mutatedQuery(source, chance);
  const cursors = mutatedCursors(newest, chance);
  const keyLine = chance.happens(0.1) ? mutatedKey(key, chance) : `Bearer ${key}`;
  const query = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const path = `/api/v1/terminal-events/stream?${query}`;
  const lines = [
    `Authorization: ${keyLine}`,
    ...cursors.map((cursor) => `Last-Event-ID: ${cursor}`),
  ];
  return {
    bytes: request('GET', path, lines),
    due:
      keyLine === `Bearer ${key}` ? answerTo(parameters, cursors, source) : '401 invalid_api_key',
    isGap:
      cursors.length === 0 || cursors[0] === ''
        ? false
        : cursors[0] === newest
          ? undefined
          : isGapAfter(cursors[0] as string, newest),
  };
}

type Parameters = [string, string][];

function mutatedQuery(source: SourceName, chance: Chance): Parameters {
  const parameters = Object.entries(source) as Parameters;
  if (chance.happens(0.5)) return parameters;
  const place = chance.between(0, 2);
  const [name, value] = parameters[place] as [string, string];
  const mutations: (() => void)[] = [
    () => parameters.splice(place, 1),
    () => parameters.push([name, value]),
    () => parameters.push([name, '']),
    () => parameters.push([chance.pick(['__proto__', 'cursor', 'Platform', 'user']), 'x']),
    () => (parameters[place] = [name, '']),
    () =>
      (parameters[place] = [name, 'x'.repeat(chance.pick([1, lengthMax, lengthMax + 1, 1000]))]),
    () => (parameters[place] = [name, wellFormed(value + chance.pick(edgeCaseTexts))]),
    () => (parameters[place] = [name.toUpperCase(), value]),
  ];
  chance.pick(mutations)();
  return parameters;
}

function mutatedCursors(newest: string, chance: Chance): string[] {
  if (chance.happens(0.4)) return [];
  const seq = Number(newest.split('-')[1]);
  const made = [
    newest,
    `${epochOf(newest)}-${seq + 1}`,
    `${epochOf(newest)}-9007199254740993`,
    `${epochOf(newest)}-0${seq}`,
    `${epochOf(newest)}--1`,
    `${epochOf(newest).toUpperCase()}x-${seq}`,
    `${epochOf(newest)}-1e3`,
    `deadbeef0000-${seq}`,
    '-',
    '0',
    'null',
    '../..',
    'x'.repeat(cursorLengthMax),
    'x'.repeat(cursorLengthMax + 1),
    // Two of these still fit into the head size limit of the native server.
    'y'.repeat(1000),
    '%00',
    '__proto__',
  ];
  const first = chance.pick(made);
  return chance.happens(0.15) ? [first, chance.pick(made)] : [first];
}

function mutatedKey(key: string, chance: Chance): string {
  return `Bearer ${chance.pick([key.slice(0, -1), `${key}x`, 'svc_api_', '', key.toUpperCase()])}`;
}

/** In the contract's order: the source's form, the cursor's form, whether the source exists. */
function answerTo(parameters: Parameters, cursors: readonly string[], source: SourceName): string {
  const one = (name: string): string | undefined => {
    const values = parameters.filter((each) => each[0] === name);
    return values.length === 1 ? (values[0] as [string, string])[1] : undefined;
  };
  const [platform, instanceId, accountName] = [
    one('platform'),
    one('instanceId'),
    one('accountName'),
  ];
  if (
    !(platform !== undefined && platform.length > 0) ||
    !(instanceId !== undefined && instanceId.length <= lengthMax) ||
    !(accountName !== undefined && accountName.length > 0 && accountName.length <= lengthMax)
  ) {
    return '400 invalid_terminal_source';
  }
  if (cursors.length > 1 || (cursors[0] ?? '').length > cursorLengthMax) {
    return '400 invalid_event_cursor';
  }
  const isThere =
    platform === source.platform &&
    instanceId === source.instanceId &&
    accountName === source.accountName;
  return isThere ? '200' : '404 terminal_source_not_found';
}

/** A cursor that was never issued, or is ahead, cannot be replayed. */
function isGapAfter(cursor: string, newest: string): boolean {
  const match = /^([0-9a-f]+)-(0|[1-9]\d{0,15})$/.exec(cursor);
  return match?.[1] !== epochOf(newest) || Number(match[2]) > Number(newest.split('-')[1]);
}

function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
