/** `signalbox backup`: a copy of the data directory that a gateway can be started with. */
import type { Command } from 'commander';
import { withStoreCopy } from '../admin/store-copy.js';
import { systemClock } from '../lib/clock.js';
import { bytesText } from '../lib/units.js';
import type { Settings } from '../settings.js';
import { type Backup, completeBackup, dropBackup, prepareBackup } from '../store/backup.js';
import type { CopyRefusal } from '../store/staged-copy.js';
import { describeCommand, type Outcome, refused, warnTo, withSettings } from './command.js';
import type { Io } from './io.js';
import { refusalOutcome } from './refusals.js';

export function backupCommand(io: Io): Command {
  return describeCommand({
    usage: 'backup <DIR>',
    summary: 'copy the data directory while the gateway runs',
    description:
      'Writes a consistent copy of the data directory into DIR, a new or empty directory. A running ' +
      'gateway makes the copy inside its data directory, and the command moves it to DIR; the disk ' +
      'of the data directory needs room for it meanwhile. Run it as the gateway’s user or as root; ' +
      'DIR belongs to the gateway’s user then. Everything that was answered before the command ' +
      'began is in the copy. ops/backup.md has the steps of a restore. The copy holds the secret ' +
      'that signs user tokens, unless SIGNALBOX_JWT_SECRET gives that, so keep it as safe as the ' +
      'original.',
    examples: [
      'signalbox backup /var/backups/signalbox/monday',
      'signalbox doctor --data-dir /var/backups/signalbox/monday',
    ],
  }).action(withSettings(io, (settings, path: string) => backUp(io, settings, path)));
}

async function backUp(io: Io, settings: Settings, path: string): Promise<Outcome> {
  const begunAt = systemClock.monotonic();
  const target = await prepareBackup(settings.dataDir, path);
  if ('code' in target) return refusedCopy(target);
  let written: Backup | CopyRefusal | undefined;
  const copy = await withStoreCopy(
    settings,
    async (staged) => (written = await completeBackup(target, staged)),
    warnTo(io),
  );
  // What was written counts, also when the gateway ended before it had removed its copy.
  const backup = written ?? ('used' in copy ? copy.used : copy);
  if ('refused' in backup) {
    await dropBackup(target);
    return refusalOutcome(backup);
  }
  return 'code' in backup ? refusedCopy(backup) : done(backup, begunAt);
}

function refusedCopy({ code, reason }: CopyRefusal): Outcome {
  return refused(code, reason);
}

function done(backup: Backup, begunAt: number): Outcome {
  const seconds = (systemClock.monotonic() - begunAt) / 1000;
  return {
    ok: true,
    json: { ...backup, seconds: Number(seconds.toFixed(3)) },
    text:
      `The backup is complete: ${bytesText(backup.bytes)} in ${backup.directory}, written in ` +
      `${seconds.toFixed(1)} s. Check it with "signalbox doctor --data-dir ${backup.directory}".`,
  };
}
