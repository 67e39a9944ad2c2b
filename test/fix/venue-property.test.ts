/**
 * Random stories of a venue that is right by the specification and makes use of its freedom, of connections that
 * break, and of kills. The worlds are the same each time; FC_SEED is the first seed of others, and TEST_ALL adds
 * many more.
 */
import t from 'tap';
import { rules } from './surroundings.js';
import { VenueWorld } from './venue-world.js';

const first = Number(process.env['FC_SEED'] ?? 1);
const count = process.env['TEST_ALL'] === undefined ? 1_500 : 10_000;

const broken = Array.from({ length: count }, (_, at) => first + at).flatMap((seed) =>
  new VenueWorld(seed).run().breaches.map((breach) => ({ seed, ...breach })),
);

for (const rule of rules) {
  t.test(rule, async (t) => {
    const breaches = broken.filter((breach) => breach.rule === rule);
    const [worst] = breaches;
    if (worst === undefined) return;
    const seeds = new Set(breaches.map(({ seed }) => seed));
    t.comment(new VenueWorld(worst.seed, true).run().log.join('\n'));
    t.fail(`${seeds.size} of ${count} worlds; FC_SEED=${worst.seed}: ${worst.text}`);
  });
}
