/** Wakes all waiters at each change, so that they look again. */
export class NextChange {
  #wake: (() => void)[] = [];

  /** Resolves at the next `happened`. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  happened(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
