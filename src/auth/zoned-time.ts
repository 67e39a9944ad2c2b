/**
 * Parses ISO 8601 times: `2026-01-31T12:00:00Z`, with or without seconds and fraction, with `Z` or an offset.
 * Rejects times without a zone and invalid dates such as 30 February, which `Date.parse` would move into the
 * next month.
 */
export const zonedTimePattern =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:Z|([+-])(\d{2})(?::?(\d{2}))?)$/;

/** @returns Unix milliseconds, truncated; undefined for invalid text. */
export function parseZonedTime(text: string): number | undefined {
  const match = zonedTimePattern.exec(text);
  if (match === null) return undefined;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(part) as Six;
  const [offsetHour, offsetMinute] = [part(9), part(10)];
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) {
    return undefined;
  }

  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;

  const milliseconds = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  date.setUTCHours(hour, minute, second, milliseconds);
  const offsetMs = (offsetHour * 60 + offsetMinute) * 60_000;
  return date.getTime() - (match[8] === '-' ? -offsetMs : offsetMs);
}

type Six = [number, number, number, number, number, number];
