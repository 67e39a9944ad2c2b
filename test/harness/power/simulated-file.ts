/**
 * A file on a disk with a volatile cache: what programs see, what a power cut surely leaves, and the changes
 * between the two. A change holds whole sectors, as they were after it, since a disk writes sectors whole.
 */
import { FileImage } from './file-image.js';

export const sectorBytes = 512;

/** A change that is not synced. `at`: its place in the order of all events. */
export type Change =
  | {
      readonly kind: 'write';
      readonly at: number;
      readonly sectors: readonly Sector[];
      readonly end: number;
    }
  | { readonly kind: 'resize'; readonly at: number; readonly size: number };

export interface Sector {
  readonly offset: number;
  /** Fewer than `sectorBytes` at the end of the file. */
  readonly bytes: Buffer;
}

export class SimulatedFile {
  readonly durable = new FileImage();
  readonly seen = new FileImage();
  #pending: Change[] = [];
  /** Offset of a sector → when it was last synced by itself. */
  readonly #syncedAt = new Map<number, number>();

  /** The changes that are not synced, in order, without sectors that are older than the durable ones. */
  get pending(): readonly Change[] {
    return this.#pending.map((change) => this.#withoutOlder(change));
  }

  /** @param isSynced as with O_DSYNC. */
  write(at: number, offset: number, bytes: Buffer, isSynced: boolean): void {
    this.seen.write(offset, bytes);
    const change = writeOf(this.seen, at, offset, bytes.length);
    if (!isSynced) {
      this.#pending.push(change);
      return;
    }
    this.#fold(change);
    if (this.#pending.length === 0) return;
    for (const sector of change.sectors) this.#syncedAt.set(sector.offset, at);
  }

  /** @returns the change that a write under way would make. */
  changeOf(offset: number, bytes: Buffer): Change {
    const from = offset - (offset % sectorBytes);
    const image = new FileImage();
    image.write(0, this.seen.read(from, offset - from + bytes.length + sectorBytes));
    image.write(offset - from, bytes);
    const { sectors, end } = writeOf(image, Infinity, offset - from, bytes.length);
    return {
      kind: 'write',
      at: Infinity,
      sectors: sectors.map((sector) => ({ ...sector, offset: sector.offset + from })),
      end: end + from,
    };
  }

  resize(at: number, size: number): void {
    this.seen.resize(size);
    this.#pending.push({ kind: 'resize', at, size });
  }

  /** Makes durable every change that came before the call began. */
  sync(begunAt: number): void {
    const isCovered = ({ at }: Change): boolean => at < begunAt;
    for (const change of this.pending.filter(isCovered)) this.#fold(change);
    this.#pending = this.#pending.filter((change) => !isCovered(change));
    if (this.#pending.length === 0) this.#syncedAt.clear();
  }

  #fold(change: Change): void {
    if (change.kind === 'resize') return this.durable.resize(change.size);
    for (const { offset, bytes } of change.sectors) this.durable.write(offset, bytes);
  }

  #withoutOlder(change: Change): Change {
    if (change.kind === 'resize' || this.#syncedAt.size === 0) return change;
    const sectors = change.sectors.filter(
      ({ offset }) => (this.#syncedAt.get(offset) ?? -1) < change.at,
    );
    return { ...change, sectors };
  }
}

function writeOf(
  image: FileImage,
  at: number,
  offset: number,
  length: number,
): Extract<Change, { kind: 'write' }> {
  const end = offset + length;
  const sectors: Sector[] = [];
  for (let from = offset - (offset % sectorBytes); from < end; from += sectorBytes) {
    sectors.push({ offset: from, bytes: image.read(from, sectorBytes) });
  }
  return { kind: 'write', at, sectors, end };
}
