/** Reads the sections of the config file: the operator's changes of limits, plans and platforms. */
import { isObject } from '../lib/is-object.js';
import { limitNames, limitRelations, limits as limitTable, type Limits } from '../limits.js';
import { shippedPlans, type Plan, type Plans } from '../plans.js';
import { shippedPlatforms, type Platform } from '../platforms.js';
import {
  type ConfigFile,
  type Report,
  reportUnknownKeys,
  reportValue,
  sectionOf,
} from './config-file.js';
import { isWholeNumber } from './table.js';

export function readLimits(file: ConfigFile, report: Report): Limits {
  const effective = Object.fromEntries(
    limitNames.map((name) => [name, limitTable[name].value]),
  ) as Record<keyof Limits, number>;
  const given = sectionOf(file, 'limits', report);
  reportUnknownKeys(given, limitNames, 'limits.', file.path, report);
  for (const name of limitNames) {
    if (!Object.hasOwn(given, name)) continue;
    const { min, max, unit } = limitTable[name];
    const value = given[name];
    if (isWholeNumber(value, min, max)) effective[name] = value;
    else {
      const bounds = `a whole number from ${min} to ${max} (${unit})`;
      reportValue(`limits.${name}`, value, bounds, file.path, report);
    }
  }
  for (const { names, holds, message } of limitRelations) {
    if (holds(effective)) continue;
    const values = names.map((name) => `${name} is ${effective[name]} ${limitTable[name].unit}`);
    report(
      `limits.${names[0]}`,
      `The limits do not fit together: ${values.join(' and ')}, but ${message} (config file ${file.path}).`,
    );
  }
  return effective;
}

const planNamePattern = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** The daily maximum is a day at the maximum rate. */
const signalsPerMinuteMax = 1_000_000;
const signalsPerDayMax = 24 * 60 * signalsPerMinuteMax;

const planFields: Record<keyof Plan, { expected: string; accepts: (value: unknown) => boolean }> = {
  publicApi: { expected: 'true or false', accepts: (value) => typeof value === 'boolean' },
  signalsPerMinute: wholeNumber(signalsPerMinuteMax),
  signalsPerDay: wholeNumber(signalsPerDayMax),
};
const planFieldNames = Object.keys(planFields) as (keyof Plan)[];

/** @returns the shipped plans with the given fields replaced. A new plan needs every field. */
export function readPlans(file: ConfigFile, report: Report): Plans {
  // Without a prototype, so that a plan named "constructor" is unknown, not inherited.
  const plans = Object.assign(Object.create(null), shippedPlans) as Record<string, Plan>;
  const given = sectionOf(file, 'plans', report);
  for (const [name, value] of Object.entries(given)) {
    const key = `plans.${name}`;
    if (!planNamePattern.test(name)) {
      const form = 'a plan named with 1 to 32 of a-z, 0-9, "_" and "-", a letter or digit first';
      reportValue(key, name, form, file.path, report);
    } else if (!isObject(value)) {
      reportValue(key, value, `an object with ${planFieldNames.join(', ')}`, file.path, report);
    } else {
      reportUnknownKeys(value, planFieldNames, `${key}.`, file.path, report);
      const plan: Record<string, unknown> = { ...plans[name], ...value };
      for (const field of planFieldNames) {
        const { expected, accepts } = planFields[field];
        if (!accepts(plan[field])) {
          reportValue(`${key}.${field}`, plan[field], expected, file.path, report);
        }
      }
      plans[name] = plan as unknown as Plan;
    }
  }
  return plans;
}

const tokenPattern = /^[a-z0-9_]{1,32}$/;
const accountForms: readonly unknown[] = [
  'named',
  'login-at-server',
] satisfies Platform['account'][];

/** @returns the given list, which replaces the shipped one. */
export function readPlatforms(file: ConfigFile, report: Report): readonly Platform[] {
  if (!Object.hasOwn(file.root, 'platforms')) return shippedPlatforms;
  const given = file.root['platforms'];
  if (!Array.isArray(given) || given.length === 0) {
    const form = 'a list of at least one { "token", "account" }';
    reportValue('platforms', given, form, file.path, report);
    return shippedPlatforms;
  }
  const tokens = new Set<unknown>();
  given.forEach((entry: unknown, index) => {
    const key = `platforms[${index}]`;
    if (!isObject(entry)) {
      reportValue(key, entry, 'an object with token and account', file.path, report);
      return;
    }
    reportUnknownKeys(entry, ['token', 'account'], `${key}.`, file.path, report);
    const { token, account } = entry;
    if (typeof token !== 'string' || !tokenPattern.test(token)) {
      reportValue(`${key}.token`, token, '1 to 32 of a-z, 0-9 and "_"', file.path, report);
    } else if (tokens.has(token)) {
      reportValue(`${key}.token`, token, 'a token that no other platform has', file.path, report);
    }
    tokens.add(token);
    if (!accountForms.includes(account)) {
      reportValue(`${key}.account`, account, '"named" or "login-at-server"', file.path, report);
    }
  });
  return given as Platform[];
}

function wholeNumber(max: number): (typeof planFields)[keyof Plan] {
  return {
    expected: `a whole number from 0 to ${max}`,
    accepts: (value) => isWholeNumber(value, 0, max),
  };
}
