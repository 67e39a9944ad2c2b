/** The rules of ops/prometheus and the queries of ops/grafana, with the series that they name. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Recording {
  readonly record: string;
  readonly expr: string;
}

interface RuleFile<Rule> {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

interface Panel {
  readonly title: string;
  readonly description?: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly decimals?: number } };
}

export interface Dashboard {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: unknown }[];
  };
}

/** A series that an expression asks for. */
export interface Selector {
  readonly name: string;
  /** With its label matchers, as it stands in the expression. */
  readonly text: string;
}

export const opsDirectory = new URL('../../../ops/', import.meta.url);

export function readOps(path: string): string {
  return readFileSync(new URL(path, opsDirectory), 'utf8');
}

export const alerts = rulesOf<Alert>('prometheus/alerts.yml');
export const recordings = rulesOf<Recording>('prometheus/recording.yml');
export const dashboard = JSON.parse(readOps('grafana/signalbox.json')) as Dashboard;

/** The dashboard's queries, with variables replaced as Grafana does for "all gateways". */
export const dashboardQueries: readonly string[] = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.annotations.list.map(({ expr }) => expr),
].map((expr) => expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'));

/** @returns every metric of the product in a PromQL expression; `up` and `ALERTS` are Prometheus's own. */
export function selectorsOf(expr: string): Selector[] {
  const found = expr.matchAll(/((?:instance:)?signalbox_[a-z0-9_:]+)(\{[^}]*\})?/g);
  return [...found].map(([text, name = '']) => ({ name, text }));
}

function rulesOf<Rule>(path: string): Rule[] {
  const { groups } = parse(readOps(path)) as RuleFile<Rule>;
  return groups.flatMap(({ rules }) => rules);
}
