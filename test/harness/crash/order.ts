/** One order at its terminal: executed once, every fill with its own fillId. */
import type { Fill } from '../../../src/model/execution.js';

const finals = ['filled', 'completed', 'cancelled', 'rejected'];

export class Order {
  status = 'new';
  isAcknowledged = false;
  readonly fills: Fill[] = [];

  constructor(
    readonly executionId: string,
    /** 0 for a position command. */
    readonly quantity: number,
  ) {}

  get isOver(): boolean {
    return finals.includes(this.status);
  }

  get filledQuantity(): number {
    return this.fills.reduce((sum, { quantity }) => sum + quantity, 0);
  }

  /** @returns false when the order has ended, which makes it a no-op. */
  move(status: string, fills = 0): boolean {
    if (this.isOver) return false;
    this.status = status;
    if (fills > 0) {
      this.fills.push({
        fillId: `fill-${this.fills.length + 1}`,
        price: 100 + this.fills.length,
        quantity: fills,
        filledAt: new Date().toISOString(),
      });
    }
    return true;
  }

  fillUp(): boolean {
    return this.move('filled', this.quantity - this.filledQuantity);
  }
}
