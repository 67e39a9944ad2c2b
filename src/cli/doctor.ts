/** `signalbox doctor`: checks everything that a gateway depends on, and prints a remedy for each fault. */
import type { Command } from 'commander';
import { examine } from '../doctor/examination.js';
import { type Finding, reporter } from '../doctor/finding.js';
import { systemClock } from '../lib/clock.js';
import { printable } from '../lib/printable.js';
import { plural } from '../lib/units.js';
import { loadSettings } from '../settings.js';
import { configFile, flaggedSettings } from '../settings/table.js';
import { gatewayOn } from '../store/directory-lock.js';
import { describeCommand, exitCodes, finish, type SharedOptions, sourcesOf } from './command.js';
import type { Io } from './io.js';

const report = reporter('settings');

export function doctorCommand(io: Io): Command {
  return describeCommand({
    usage: 'doctor',
    summary: 'find problems of the installation, with remedies',
    description:
      'Examines the settings, the data directory (who can read it, free space, every record of the ' +
      'store), the clock, the limit of open files, the TLS certificate, the ports and the native ' +
      'HTTP server, whether or not the gateway is running. Give it the flags, environment and ' +
      'config file of the gateway, and run it as the gateway’s user or as root. A running gateway is ' +
      'asked whether it is ready, and the records are read in a copy of its store, which it makes and removes. ' +
      'The exit code is 1 if there is a problem, and 0 if there are only warnings.',
    examples: [
      'signalbox doctor --data-dir /var/lib/signalbox --config /etc/signalbox.json',
      'signalbox doctor --json',
    ],
    settings: flaggedSettings,
  }).action(async (options: SharedOptions) => {
    const findings = await checkAll(io, options);
    const isWell = findings.every(({ level }) => level !== 'problem');
    finish(io, { ok: true, json: { ok: isWell, findings }, text: toText(findings) }, options);
    if (!isWell) io.exitCode(exitCodes.refused);
  });
}

/** With wrong settings nothing else can be checked: not even the place of the data is known. */
async function checkAll(io: Io, options: SharedOptions): Promise<Finding[]> {
  const settings = loadSettings(sourcesOf(io, options));
  if (Array.isArray(settings)) {
    return settings.map(({ message }) =>
      report.problem(message, 'Correct it, and run the doctor again: nothing else was checked.'),
    );
  }
  return [
    report.ok('The settings are valid; "signalbox config" shows them.'),
    ...(await examine({
      settings,
      clock: systemClock,
      configFile: options.config ?? io.env[configFile.environment],
      gatewayPid: gatewayOn(settings.dataDir),
    })),
  ];
}

function toText(findings: readonly Finding[]): string {
  const lines = findings.flatMap((finding) => {
    const { check, level, message } = finding;
    const head = `${level.padEnd(8)} ${check.padEnd(12)} ${message}`;
    return level === 'ok' ? [head] : [head, `${' '.repeat(22)}→ ${finding.remedy}`];
  });
  const count = (wanted: Finding['level']): number =>
    findings.filter(({ level }) => level === wanted).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const verdict =
    problems + warnings === 0
      ? 'All is well.'
      : `${plural(problems, 'problem')}, ${plural(warnings, 'warning')}.`;
  // Some findings name records or paths as somebody else has called them.
  return [...lines.map(printable), '', verdict].join('\n');
}
