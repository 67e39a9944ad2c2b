/** The settings as shipped that the operator's operations need, beside a data directory. */
import { shippedPlans } from '../../src/plans.js';
import { shippedPlatforms } from '../../src/platforms.js';
import { shippedLimits } from './shipped-limits.js';

export const shippedSettings = {
  plans: shippedPlans,
  platforms: shippedPlatforms,
  mistakes: [],
  limits: shippedLimits(),
};
