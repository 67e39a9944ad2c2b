/** Formats the figures as a table. */
import { columns } from '../lib/columns.js';
import { toIsoTime } from '../lib/clock.js';
import { bytesText, durationText, plural } from '../lib/units.js';
import { answerClasses, type Figures, latencies } from './figures.js';

const unknown = '-';

export function statsScreen(url: string, figures: Figures): string {
  const { answers, latencySeconds, executionsPerSecond } = figures;
  const total = Object.values(answers).reduce((sum, perSecond) => sum + perSecond, 0);
  const states = Object.entries(executionsPerSecond).map(
    ([status, perSecond]) => `${status} ${perSecond.toFixed(1)}`,
  );
  return [
    headline(url, figures),
    '',
    columns([
      ['PER SECOND', 'ALL', ...answerClasses.map((name) => name.toUpperCase())],
      ['answers', ...[total, ...answerClasses.map((name) => answers[name])].map(rateText)],
    ]),
    '',
    columns([
      ['LATENCY', 'P50', 'P99'],
      ...latencies.map((name) => {
        const { p50, p99 } = latencySeconds[name];
        return [name, show(p50, durationText), show(p99, durationText)];
      }),
    ]),
    '',
    columns([
      [
        'signals',
        `${show(figures.signalsPerSecond, rateText)} a second, ${show(figures.signalsAccepted)} since the start`,
      ],
      ['executions', states.length === 0 ? 'none moved' : `${states.join(', ')} a second`],
      [
        'open',
        `${several(figures.openExecutions, 'execution')}, ${several(figures.connectedPlugins, 'terminal')}, ` +
          `${several(figures.openStreams, 'stream')}, ${several(figures.hashPoolQueue, 'login')} waiting`,
      ],
      [
        'process',
        `${show(figures.cpuPercent, (percent) => percent.toFixed(0))} % of a core, ` +
          `${show(figures.residentBytes, bytesText)}, event loop late by ` +
          `${show(figures.eventLoopDelaySeconds, durationText)} at most`,
      ],
      [
        'disk',
        `store ${show(figures.storeBytes, bytesText)}, free ${show(figures.diskFreeBytes, bytesText)}`,
      ],
      [
        'failures',
        `${several(figures.commitsFailed, 'commit')}, ${several(figures.internalErrors, 'internal error')} ` +
          'since the start',
      ],
    ]),
  ].join('\n');
}

function headline(url: string, figures: Figures): string {
  const { version, ready, halted, publicApiDisabled, uptimeSeconds, at } = figures;
  const state = ready === null ? unknown : ready ? 'ready' : 'NOT READY';
  const trading = halted === true ? '  TRADING HALTED' : '';
  const api = publicApiDisabled === true ? '  PUBLIC API DISABLED' : '';
  const up = show(uptimeSeconds, durationText);
  return `signalbox ${version ?? unknown}  ${url}  ${state}${trading}${api}  up ${up}  ${toIsoTime(Math.floor(at))}`;
}

function show(value: number | null, text: (value: number) => string = String): string {
  return value === null ? unknown : text(value);
}

function several(value: number | null, noun: string): string {
  return value === null ? `${unknown} ${noun}s` : plural(value, noun);
}

function rateText(perSecond: number): string {
  return perSecond.toFixed(perSecond < 10 ? 1 : 0);
}
