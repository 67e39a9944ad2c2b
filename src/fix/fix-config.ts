/** The configuration file of the FIX terminal: one table of its fields, each checked, each fault named. */
import { isObject } from '../lib/is-object.js';
import { memberNames, repeatedMembers } from '../lib/json-members.js';
import type { SourceName } from '../model/source-name.js';
import { gatewayUrlForm, isGatewayUrl } from '../terminal/session-login.js';
import type { Field } from './message.js';
import { venues, type TimeInForce, type Venue, type VenueName } from './venues.js';

export interface FixConfig {
  readonly gateway: { readonly url: string; readonly email: string };
  readonly source: SourceName;
  readonly stateDir: string;
  readonly session: {
    readonly host: string;
    readonly port: number;
    readonly tls: boolean;
    /** A file of certificates in PEM to trust instead of the system's. */
    readonly tlsCa: string | undefined;
    readonly beginString: string;
    readonly senderCompId: string;
    readonly targetCompId: string;
    readonly username: string | undefined;
    readonly heartBtIntSec: number;
    readonly resetOnLogon: boolean;
  };
  readonly orders: {
    readonly account: string | undefined;
    readonly timeInForce: TimeInForce;
    readonly symbols: Readonly<Record<string, string>>;
  };
  readonly venue: Venue;
}

interface Rule {
  readonly is: (value: unknown) => boolean;
  readonly expected: string;
  /** Undefined: the field must be there. */
  readonly default?: unknown;
}

/** Whether it can be the value of a FIX field: a delimiter within would begin another field. */
const isValue = (value: unknown): boolean => isText(value) && !/\p{Cc}/u.test(value);
const text: Rule = { is: isText, expected: 'a text' };
const value: Rule = { is: isValue, expected: 'a text without control characters' };
const flag: Rule = { is: (given) => typeof given === 'boolean', expected: 'true or false' };
const or = (otherwise: unknown, rule: Rule): Rule => ({ ...rule, default: otherwise });
const optional = (rule: Rule): Rule => or(absent, rule);
const oneOf = (names: readonly string[]): Rule => ({
  is: (given) => names.includes(given as string),
  expected: `one of ${names.join(', ')}`,
});
const wholeNumber = (min: number, max: number): Rule => ({
  is: (given) => Number.isInteger(given) && (given as number) >= min && (given as number) <= max,
  expected: `a whole number from ${min} to ${max}`,
});
const absent = Symbol('absent');
const orderTypes = venues.standard.orderTypes;
const timesInForce = venues.standard.timesInForce;
const listOf = (names: readonly string[]): Rule => ({
  is: (given) =>
    Array.isArray(given) &&
    given.length > 0 &&
    given.every((each) => names.includes(each as string)),
  expected: `a list of ${names.join(', ')}`,
});
const tagMap: Rule = {
  is: (given) =>
    isObject(given) &&
    Object.entries(given).every(([tag, each]) => /^[1-9]\d{0,8}$/.test(tag) && isValue(each)),
  expected: 'an object of texts by tag, such as {"50": "TRADE"}',
};

// oxfmt-ignore
const rules: Readonly<Record<string, Rule>> = {
  'gateway.url':            { is: (given) => isText(given) && isGatewayUrl(given), expected: gatewayUrlForm },
  'gateway.email':          text,
  platform:                 text,
  instanceId:               { is: (given) => typeof given === 'string', expected: 'a text' },
  accountName:              text,
  stateDir:                 text,
  'session.host':           text,
  'session.port':           wholeNumber(1, 65_535),
  'session.tls':            or(false, flag),
  'session.tlsCa':          optional(text),
  'session.beginString':    or('FIX.4.4', oneOf(['FIX.4.2', 'FIX.4.4'])),
  'session.senderCompId':   value,
  'session.targetCompId':   value,
  'session.username':       optional(value),
  'session.heartBtIntSec':  or(30, wholeNumber(1, 3_600)),
  'session.resetOnLogon':   or(false, flag),
  'orders.account':         optional(value),
  'orders.timeInForce':     or('day', oneOf(timesInForce)),
  'orders.symbols':         or({}, { is: isTextMap, expected: 'an object of texts, such as {"EURUSD": "EUR/USD"}' }),
  'venue.like':             or('standard', oneOf(Object.keys(venues))),
  'venue.header':           optional(tagMap),
  'venue.logon':            optional(tagMap),
  'venue.order':            optional(tagMap),
  'venue.instrument':       optional(oneOf(['symbol', 'securityId'])),
  'venue.handlInst':        optional(flag),
  'venue.commentTag':       optional({ is: (given) => given === null || wholeNumber(1, 99_999).is(given), expected: 'a tag, or null for none' }),
  'venue.orderTypes':       optional(listOf(orderTypes)),
  'venue.timesInForce':     optional(listOf(timesInForce)),
  'venue.clOrdIdLengthMax': optional(wholeNumber(16, 36)),
  'venue.statusRequest':    optional(flag),
};

const sections = ['gateway', 'session', 'orders', 'venue'];

/** @returns the settings, or what is wrong with the file, one sentence for each fault. */
export function readFixConfig(content: string): FixConfig | string[] {
  let root: unknown;
  try {
    root = JSON.parse(content);
  } catch {
    return ['The file is not JSON.'];
  }
  if (!isObject(root)) return ['The file must hold a JSON object.'];
  const faults = repeatedMembers(content).map((name) => `"${name}" is given more than once.`);
  const given = flattened(root, faults);
  for (const name of given.keys()) {
    if (!Object.hasOwn(rules, name)) faults.push(`There is no setting "${name}".`);
  }
  const settings: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const found = given.has(name) ? given.get(name) : rule.default;
    if (found === undefined) faults.push(`"${name}" is missing: it must be ${rule.expected}.`);
    else if (found === absent) settings[name] = undefined;
    else if (rule.is(found)) settings[name] = found;
    else faults.push(`"${name}" is ${JSON.stringify(found)}: it must be ${rule.expected}.`);
  }
  if (faults.length > 0) return faults;
  const config = configOf(settings, content);
  const disagreeing = disagreements(config);
  return disagreeing.length > 0 ? disagreeing : config;
}

/** @returns what is wrong between settings that are right by themselves. */
function disagreements({ session, orders, venue }: FixConfig): string[] {
  const faults: string[] = [];
  // Otherwise the password would cross the network in plain text.
  if (session.tlsCa !== undefined && !session.tls)
    faults.push('"session.tlsCa" is given: "session.tls" must then be true.');
  // Otherwise the logon would have a field without a value.
  if (venue.credentials !== 'password' && session.username === undefined)
    faults.push('"session.username" is missing: for this venue it must be the API key.');
  // Otherwise each order that names none would be rejected.
  const { is, expected } = oneOf(venue.timesInForce);
  const { timeInForce } = orders;
  if (!is(timeInForce))
    faults.push(`"orders.timeInForce" is "${timeInForce}": for this venue it must be ${expected}.`);
  return faults;
}

/** `venue` may be a name alone. */
function flattened(root: Record<string, unknown>, faults: string[]): Map<string, unknown> {
  const given = new Map<string, unknown>();
  for (const [name, content] of Object.entries(root)) {
    if (name.includes('.'))
      faults.push(`There is no setting "${name}": write sections as objects.`);
    else if (!sections.includes(name)) given.set(name, content);
    else if (name === 'venue' && typeof content === 'string') given.set('venue.like', content);
    else if (!isObject(content)) faults.push(`"${name}" must be an object.`);
    else for (const [part, each] of Object.entries(content)) given.set(`${name}.${part}`, each);
  }
  return given;
}

/**
 * @param settings checked, so that each has the type that its rule says.
 * @param content of the file.
 */
function configOf(settings: Readonly<Record<string, unknown>>, content: string): FixConfig {
  const section = (prefix: string): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(settings)
        .filter(([name]) => name.startsWith(`${prefix}.`))
        .map(([name, each]) => [name.slice(prefix.length + 1), each]),
    );
  const { like, ...parts } = section('venue');
  const { platform, instanceId, accountName, stateDir } = settings;
  const replaced = Object.entries(parts)
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => [
      name,
      isObject(each) ? fieldsOf(each, memberNames(content, ['venue', name])) : each,
    ]);
  return {
    gateway: section('gateway'),
    source: { platform, instanceId, accountName },
    stateDir,
    session: section('session'),
    orders: section('orders'),
    venue: { ...venues[like as VenueName], ...(Object.fromEntries(replaced) as Partial<Venue>) },
  } as FixConfig;
}

/**
 * @param map values by tag.
 * @param order the tags as the file has them. An object sorts them, and then the members of a repeating group may
 *   come before their count.
 */
function fieldsOf(map: Readonly<Record<string, unknown>>, order: readonly string[]): Field[] {
  return order.map((tag): Field => [Number(tag), map[tag] as string]);
}

function isText(given: unknown): given is string {
  return typeof given === 'string' && given !== '';
}

function isTextMap(given: unknown): boolean {
  return isObject(given) && Object.values(given).every(isValue);
}
