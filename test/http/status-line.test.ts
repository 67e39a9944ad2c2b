import t from 'tap';
import { errors } from '../../src/errors.js';
import { statusLine } from '../../src/http/status-line.js';

t.test('a status has the text that HTTP gives it', async (t) => {
  t.equal(statusLine(200), '200 OK');
  t.equal(statusLine(202), '202 Accepted');
  t.equal(statusLine(413), '413 Payload Too Large');
});

t.test('every status of the table of errors has a text', async (t) => {
  for (const { status } of Object.values(errors)) t.match(statusLine(status), /^\d{3} [A-Z]/);
});

t.test('a status that HTTP does not name is told as its number', async (t) => {
  t.equal(statusLine(299), '299');
});
