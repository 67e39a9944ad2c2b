/** The catalog of commands against its documentation, in both directions. */
import t from 'tap';
import {
  commands,
  executionTypes,
  fieldFaults,
  pricesOf,
  sides,
  timesInForce,
  type CommandName,
} from '../../src/plugins/commands.js';
import { partialFillsMax } from '../../src/terminal/order-request.js';
import { readDocument, namesIn } from '../support/protocol-document.js';

const document = readDocument('COMMANDS.md');
const fieldRows = (title: string) =>
  document.section(title).rows.filter((row) => row.length === 4 && /^(yes|no)$/.test(row[1] ?? ''));
const nameOf = (row: readonly string[]): string => namesIn(row[0])[0] ?? '';

t.test('every command has its fields, required where the page says so', async (t) => {
  t.strictSame(document.headings(2, /\//), Object.keys(commands));
  for (const name of Object.keys(commands) as CommandName[]) {
    const { properties, required = [] } = commands[name] as {
      properties: object;
      required?: readonly string[];
    };
    t.strictSame(
      fieldRows(name).map((row) => [nameOf(row), row[1] === 'yes']),
      Object.keys(properties).map((field) => [field, required.includes(field)]),
      name,
    );
  }
});

t.test('every field has the reason code of the page', async (t) => {
  for (const name of ['order/submit', 'position/close']) {
    for (const row of fieldRows(name)) {
      const [, wrong] = fieldFaults[nameOf(row) as keyof typeof fieldFaults];
      t.strictSame(namesIn(row[3]), [wrong], `${name} ${nameOf(row)}`);
    }
  }
  t.match(document.section('order/submit').text, /an absent `limitPrice` `missing_limit_price`/);
  t.equal(fieldFaults.limitPrice[2], 'missing_limit_price');
  for (const [field, [, , missing]] of Object.entries(fieldFaults)) {
    if (field !== 'limitPrice') t.equal(missing, undefined);
  }
});

t.test('the values of the page are those of the schemas', async (t) => {
  const valueOf = (field: string): string[] =>
    namesIn(fieldRows('order/submit').find((row) => nameOf(row) === field)?.[2]);
  t.strictSame(valueOf('side'), sides);
  t.strictSame(valueOf('executionType'), executionTypes);
  t.strictSame(valueOf('timeInForce'), timesInForce);
  t.strictSame(
    document.section('Types').rows.map((row) => [nameOf(row), namesIn(row[1])]),
    Object.entries(pricesOf).map(([type, prices]) => [type, [...prices]]),
  );
  t.strictSame(document.section('Time in force').rows.map(nameOf), timesInForce);
  const { properties } = commands['order/submit'];
  for (const field of ['instrument', 'comment'] as const) {
    const { maxLength } = properties[field] as { maxLength?: number };
    const row = fieldRows('order/submit').find((cells) => nameOf(cells) === field);
    t.match(row?.[2] ?? '', `${maxLength} characters`, field);
  }
  const [paper] = document.section('What each terminal takes').rows;
  t.match(paper?.[4] ?? '', `1 to ${partialFillsMax}`);
});
