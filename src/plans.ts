/** Defines the plans and their quotas. An operator may change these plans and add more. */
export interface Plan {
  /** Whether the plan includes the Public API. */
  readonly publicApi: boolean;
  /** Accepted signals per account in any 60 seconds (sliding window). */
  readonly signalsPerMinute: number;
  /** Accepted signals per account and UTC day. */
  readonly signalsPerDay: number;
}

export type Plans = Readonly<Record<string, Plan>>;

export const shippedPlans: Plans = {
  basic: { publicApi: false, signalsPerMinute: 60, signalsPerDay: 1_000 },
  business: { publicApi: true, signalsPerMinute: 6_000, signalsPerDay: 1_000_000 },
};
