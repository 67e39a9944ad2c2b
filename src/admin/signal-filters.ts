/** What the operator can ask the list of signals for. */
export const signalFilters = ['open', 'unknown', 'completed'] as const;
export const signalListMax = 1_000;
