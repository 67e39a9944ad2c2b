/** Whether the disk of the data directory has room for the store to go on. */
import { bytesText } from '../lib/units.js';
import { readDiskSpace, reserveBytes } from '../store/disk-reserve.js';
import type { Check } from './check.js';
import { reporter } from './finding.js';

/** Warns below this multiple of the reserve, while the operator still has time to act. */
const warningReserves = 4;
const remedy =
  'Make room on it or move the data directory to a larger disk; the gateway accepts signals ' +
  'again as soon as there is space.';
const report = reporter('disk');

export const checkDisk: Check = ({ settings: { dataDir } }) => {
  const space = readDiskSpace(dataDir);
  if (space === undefined) return [];
  const reserve = reserveBytes(space);
  const free = `The disk of ${dataDir} has ${bytesText(space.freeBytes)} free`;
  if (space.freeBytes < reserve) {
    return [
      report.problem(
        `${free}, less than the ${bytesText(reserve)} that must stay free: no signals are accepted.`,
        remedy,
      ),
    ];
  }
  if (space.freeBytes < warningReserves * reserve) {
    return [
      report.warning(`${free}; below ${bytesText(reserve)} no signals are accepted.`, remedy),
    ];
  }
  return [report.ok(`${free} of ${bytesText(space.sizeBytes)}.`)];
};
