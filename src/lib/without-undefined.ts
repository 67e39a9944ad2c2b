type Present<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Leaves out undefined members: the types tell them from absent ones, and JSON has no undefined. */
export function withoutUndefined<const T extends object>(fields: T): Present<T> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as Present<T>;
}
