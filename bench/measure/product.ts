/** A built tree whose gateway is measured: this one, or in a comparison another commit's. */
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface Product {
  /** The tree's root, the directory of its package.json. */
  readonly root: string;
  /** What a report calls it. */
  readonly label: string;
  /** For the Node process of its gateway. */
  readonly nodeFlags?: readonly string[];
}

export const thisProduct: Product = {
  root: fileURLToPath(new URL('../../../', import.meta.url)),
  label: 'this tree',
};

/** Path of one of the product's compiled modules, such as `store/lmdb-store.js`. */
export function productModule(product: Product, path: string): string {
  return join(product.root, 'build', 'src', path);
}

/** One of the compiled modules of the tree with this root, as that tree has it. */
export async function loadModule<T>(root: string, path: string): Promise<T> {
  const file = productModule({ root, label: '' }, path);
  const module: unknown = await import(pathToFileURL(file).href);
  return module as T;
}
