import t from 'tap';
import { eventDataFields, isEventData } from '../../src/events/event-data.js';
import { pluginEventNames } from '../../src/events/event-names.js';

t.test('every event that a terminal may send has its fields', async (t) => {
  t.strictSame(Object.keys(eventDataFields).sort(), [...pluginEventNames].sort());
});

t.test('a field may be missing or null, and others pass as they are', async (t) => {
  for (const [name, fields] of Object.entries(eventDataFields)) {
    const kind = name as keyof typeof eventDataFields;
    const nulls = Object.fromEntries(Object.keys(fields).map((field) => [field, null]));
    t.ok(isEventData(kind, {}), name);
    t.ok(isEventData(kind, nulls), `${name} with nulls`);
    t.ok(isEventData(kind, { venue: { name: 'X' }, leverage: [1] }), `${name} with more`);
  }
});

t.test('a field of the wrong type is refused, in every kind', async (t) => {
  const wrong = { string: 5, number: '5', boolean: 'true', object: [], array: {} } as const;
  for (const [name, fields] of Object.entries(eventDataFields)) {
    for (const [field, schema] of Object.entries(fields)) {
      const value = wrong[(schema as unknown as { type: keyof typeof wrong }).type];
      const data = { [field]: value };
      t.notOk(isEventData(name as keyof typeof eventDataFields, data), `${name}.${field}`);
    }
  }
  t.notOk(isEventData('state_snapshot', { positions: [1] }));
});
