/** What each plan allows. The operator may change these and add more. */
export interface Plan {
  /** Whether the plan's users may use the Public API at all. */
  readonly publicApi: boolean;
  /** Signals an account may have accepted in any 60 seconds. */
  readonly signalsPerMinute: number;
  /** Signals an account may have accepted on one UTC day. */
  readonly signalsPerDay: number;
}

export type Plans = Readonly<Record<string, Plan>>;

export const shippedPlans: Plans = {
  basic: { publicApi: false, signalsPerMinute: 60, signalsPerDay: 1_000 },
  business: { publicApi: true, signalsPerMinute: 6_000, signalsPerDay: 1_000_000 },
};
