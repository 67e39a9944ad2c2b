/** Defines the scopes of a Public API key, in the order in which responses list them. */
export const scopes = ['events:read', 'orders:cancel', 'signals:read', 'signals:write'] as const;

export type Scope = (typeof scopes)[number];
