/** Formats bytes and durations for the command line. */

/** `1 problem`, `2 problems`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const steps = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** `1.5 MB`; a kB is 1024 bytes, as in `ls -h` and `du -h`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let step = 0;
  while (value >= 1024 && step < steps.length - 1) {
    value /= 1024;
    step++;
  }
  return `${step === 0 ? value : value.toFixed(1)} ${steps[step] as string}`;
}

/** `0.8 ms`, `12.0 s`, `3.5 h`. */
export function durationText(seconds: number): string {
  if (seconds < 1) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(1)} min`;
  if (seconds < 172_800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86_400).toFixed(1)} days`;
}
