/**
 * Gaps between a user's keys, in which nothing is stored. A bot numbers its signals upwards, or names them by
 * the time: the next name lies in the gap behind the one before, and is known to be new without a look-up. A
 * gap is searched for after look-ups that found nothing; a key that is put into it moves its begin. Owns a
 * bounded number of gaps.
 *
 * Only names of printable ASCII lie in a gap: these sort as texts in the order of their keys' bytes.
 */
import type { Collection, KeyOf } from './key-layout.js';
import type { Reader } from './store.js';

/** Their keys are a userId and a name that a bot has chosen for each of its signals. */
const gapCollections = ['idempotency', 'signalIds'] as const;
type GapCollection = (typeof gapCollections)[number];
type NameKey = KeyOf<GapCollection>;

/** Per user: each of a user's bots may number its own signals. */
const gapsMax = 8;
const usersMax = 10_000;
/** Look-ups in vain before a gap is searched for, which costs tens of look-ups; doubled by each search. */
const missesMin = 2;
const missesMax = 256;
/** After so many uses a gap was worth its search, and `missesMin` applies again. */
const usesMin = 8;

const firstBytes = 64;

/** Nothing is stored between `low` and `high`, both excluded; `high` is undefined behind the user's last key. */
class Gap {
  uses = 0;
  /** The character codes of `low`: a string kept for each signal would outlive the young generation. */
  #low = new Uint8Array(firstBytes);
  #lowLength = 0;
  readonly #high: string | undefined;

  constructor(low: string, high: string | undefined) {
    this.#begin(low);
    this.#high = high;
  }

  contains(name: string): boolean {
    return this.#isBehindLow(name) && (this.#high === undefined || name < this.#high);
  }

  /** Begins the gap behind the name. A name below it that comes late is looked up again. */
  leave(name: string): void {
    if (this.contains(name)) this.#begin(name);
  }

  #isBehindLow(name: string): boolean {
    const low = this.#low;
    const both = Math.min(name.length, this.#lowLength);
    let at = 0;
    while (at < both && name.charCodeAt(at) === low[at]) at++;
    if (at === name.length) return false;
    if (at < both && name.charCodeAt(at) < (low[at] as number)) return false;
    return isPrintable(name, at);
  }

  #begin(low: string): void {
    if (low.length > this.#low.length) this.#low = new Uint8Array(2 * low.length);
    for (let i = 0; i < low.length; i++) this.#low[i] = low.charCodeAt(i);
    this.#lowLength = low.length;
  }
}

/** @param from number of leading characters that are known to be printable. */
function isPrintable(name: string, from = 0): boolean {
  for (let i = from; i < name.length; i++) {
    const unit = name.charCodeAt(i);
    if (unit < 0x20 || unit > 0x7e) return false;
  }
  return true;
}

interface UserGaps {
  /** The newest one first. */
  readonly gaps: Gap[];
  /** Look-ups in vain since the last search for a gap. */
  misses: number;
  /** Look-ups in vain that lead to the next search. */
  missesNeeded: number;
}

/** @returns the name of the user's first key from the given one on; undefined where there is none. */
type FirstFrom = (userId: string, name: string) => string | undefined;

/** The gaps of one collection. */
class CollectionGaps {
  readonly #firstFrom: FirstFrom;
  readonly #byUser = new Map<string, UserGaps>();
  /** The user that was asked for last. */
  #userId = '';
  #user: UserGaps | undefined;

  constructor(firstFrom: FirstFrom) {
    this.#firstFrom = firstFrom;
  }

  contains([userId, name]: NameKey): boolean {
    const user = this.#of(userId);
    if (user === undefined) return false;
    for (const gap of user.gaps) {
      if (!gap.contains(name)) continue;
      if (++gap.uses === usesMin) user.missesNeeded = missesMin;
      return true;
    }
    return false;
  }

  leave([userId, name]: NameKey): void {
    const gaps = this.#of(userId)?.gaps;
    if (gaps !== undefined) for (const gap of gaps) gap.leave(name);
  }

  missed([userId, name]: NameKey): void {
    const user = this.#of(userId) ?? this.#begin(userId);
    if (++user.misses < user.missesNeeded || !isPrintable(name)) return;
    user.misses = 0;
    user.missesNeeded = Math.min(2 * user.missesNeeded, missesMax);
    const first = this.#firstFrom(userId, name);
    if (first === name) return;
    user.gaps.unshift(new Gap(name, first));
    if (user.gaps.length > gapsMax) user.gaps.pop();
  }

  #of(userId: string): UserGaps | undefined {
    if (this.#userId !== userId) {
      this.#userId = userId;
      this.#user = this.#byUser.get(userId);
    }
    return this.#user;
  }

  #begin(userId: string): UserGaps {
    if (this.#byUser.size >= usersMax) this.#byUser.clear();
    const user = { gaps: [], misses: 0, missesNeeded: missesMin };
    this.#byUser.set(userId, user);
    this.#user = user;
    return user;
  }
}

export interface KnownGapsDeps {
  /** A key that any of them has ends a gap: one sees writes under way, another what remains when those fail. */
  readonly readers: readonly Reader[];
  /** Whether a range costs too much now. */
  readonly isDear: () => boolean;
}

export class KnownGaps {
  readonly #deps: KnownGapsDeps;
  readonly #byCollection: Readonly<Partial<Record<Collection, CollectionGaps>>>;

  constructor(deps: KnownGapsDeps) {
    this.#deps = deps;
    this.#byCollection = Object.fromEntries(
      gapCollections.map((collection) => [
        collection,
        new CollectionGaps((userId, name) => this.#firstFrom(collection, userId, name)),
      ]),
    );
  }

  /** Whether it is known that nothing is stored at the key, and that no write under way puts it. */
  contain<C extends Collection>(collection: C, key: KeyOf<C>): boolean {
    return this.#byCollection[collection]?.contains(key as NameKey) ?? false;
  }

  /** Call it before the key is put. */
  leave<C extends Collection>(collection: C, key: KeyOf<C>): void {
    this.#byCollection[collection]?.leave(key as NameKey);
  }

  /** Call it when a look-up has found nothing at the key. */
  missed<C extends Collection>(collection: C, key: KeyOf<C>): void {
    if (!this.#deps.isDear()) this.#byCollection[collection]?.missed(key as NameKey);
  }

  /** @returns the lowest name that any reader has. */
  #firstFrom(collection: GapCollection, userId: string, name: string): string | undefined {
    const range = { prefix: [userId], start: [userId, name] as NameKey, limit: 1 };
    const names = this.#deps.readers.flatMap((reader) =>
      reader.keys(collection, range).map(([, first]) => first),
    );
    return names.sort(byUnits)[0];
  }
}

/** In the order of UTF-16 units, as `<` compares texts. */
function byUnits(a: string, b: string): number {
  return a < b ? -1 : 1;
}
