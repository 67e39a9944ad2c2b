/** The data directory cannot be used as it is. The message tells the operator why, and what to do. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}
