/**
 * Stretches between a user's keys in which nothing is stored. A bot counts its signals up, or names them by the time:
 * the next name lies in the stretch behind the one before, and needs no look-up to be new. A stretch is found after
 * look-ups that found nothing, and begins behind each key that is put in it. Owns a bounded number of stretches.
 *
 * Only names of printable ASCII lie in one: as texts they have the order that their keys have as bytes.
 */
import type { Collection, KeyOf } from './key-layout.js';
import type { Reader } from './store.js';

/** Their keys are a userId and a name that a bot has chosen for each of its signals. */
const gapCollections = ['idempotency', 'signalIds'] as const;
type GapCollection = (typeof gapCollections)[number];
type NameKey = KeyOf<GapCollection>;

/** Of a user: each of its bots may count by itself. */
const gapsMax = 8;
const usersMax = 10_000;
/** To find a stretch costs as much as tens of look-ups: so many in vain are made before, twice as many each time. */
const missesMin = 2;
const missesMax = 256;
/** A stretch that was used so often was worth it, and the next one is found sooner. */
const usesMin = 8;

const firstBytes = 64;

/** Nothing is stored between both, each excluded; `high` is undefined behind the user's last key. */
class Gap {
  uses = 0;
  /** The characters of `low`. Its text would outlive the young generation, of each signal anew. */
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

  /** What lies below the name is left, too: a name that comes late is looked up. */
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

/** @param from so many characters are known to be. */
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
  /** Look-ups in vain since the newest stretch was found. */
  misses: number;
  /** How many of them lead to the next one. */
  missesNeeded: number;
}

/** @returns the name of the user's first key from the given one on; undefined where there is none. */
type FirstFrom = (userId: string, name: string) => string | undefined;

/** Of one collection. */
class CollectionGaps {
  readonly #firstFrom: FirstFrom;
  readonly #byUser = new Map<string, UserGaps>();
  /** The one that was asked for last. */
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
  /** All that count what is stored in their own way, since what is on its way may still fail. */
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

  /** Whether it is known that nothing is stored at the key, nor on its way. */
  contain<C extends Collection>(collection: C, key: KeyOf<C>): boolean {
    return this.#byCollection[collection]?.contains(key as NameKey) ?? false;
  }

  /** The key is put. */
  leave<C extends Collection>(collection: C, key: KeyOf<C>): void {
    this.#byCollection[collection]?.leave(key as NameKey);
  }

  /** A look-up has found nothing at the key. */
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

/** As texts are compared above. */
function byUnits(a: string, b: string): number {
  return a < b ? -1 : 1;
}
