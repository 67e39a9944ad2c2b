/** A built tree whose gateway is measured: this one, or in a comparison another commit's. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface Product {
  /** The tree's root, the directory of its package.json. */
  readonly root: string;
  /** What a report calls it. */
  readonly label: string;
  /** For the Node process of its gateway. */
  readonly nodeFlags?: readonly string[];
  /** Path of the program of its gateway; the command that its package installs unless given. */
  readonly program?: string;
}

export const thisProduct: Product = {
  root: fileURLToPath(new URL('../../../', import.meta.url)),
  label: 'this tree',
};

/** Path of the command that the product's package installs. */
export function commandOf({ root }: Product): string {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { bin } = JSON.parse(text) as { readonly bin: { readonly signalbox: string } };
  return join(root, bin.signalbox);
}

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
