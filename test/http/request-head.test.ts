import t from 'tap';
import { RequestHead } from '../../src/http/request-head.js';
import type { HttpRequest } from '../../src/http/uws.js';

/** @param lines names in lower case, as the native server gives them. */
function headOf(...lines: readonly (readonly [name: string, value: string])[]): RequestHead {
  const request: Pick<HttpRequest, 'forEach'> = {
    forEach(take) {
      for (const [name, value] of lines) take(name, value);
    },
  };
  return new RequestHead(request as HttpRequest);
}

t.test('headers that no endpoint needs are passed over', async (t) => {
  t.same(headOf(['accept', '*/*'], ['cookie', 'a=b']), headOf());
});

t.test('the credential is that of one Authorization header of the scheme Bearer', async (t) => {
  const rows: Record<string, string> = {
    'Bearer abc': 'abc',
    'bearer abc': 'abc',
    'BEARER  abc ': 'abc',
    'Bearer ': '',
    Bearer: '',
    'Basic abc': '',
    abc: '',
    '': '',
  };
  for (const [value, bearer] of Object.entries(rows)) {
    t.equal(headOf(['authorization', value]).bearer, bearer, value);
  }
  const line = ['authorization', 'Bearer abc'] as const;
  t.equal(headOf(line, line).bearer, '', 'two of them are no credential');
  t.equal(headOf().bearer, '');
});

t.test('application/json is JSON, with any parameter and in any letters', async (t) => {
  const isJson = (type: string) => headOf(['content-type', type]).isJson;
  for (const type of ['application/json', 'Application/JSON', 'application/json ; charset=utf-8']) {
    t.equal(isJson(type), true, type);
  }
  for (const type of ['', 'text/plain', 'application/jsonx', 'application/json+x', 'text/json']) {
    t.equal(isJson(type), false, type);
  }
  t.equal(headOf().isJson, false);
  const [json, text] = [
    ['content-type', 'application/json'],
    ['content-type', 'text/plain'],
  ] as const;
  for (const lines of [
    [json, text],
    [text, json],
    [json, json],
  ]) {
    t.equal(headOf(...lines).isJson, false, 'two of them are no choice');
  }
});

t.test('framing on which two readers could disagree is ambiguous', async (t) => {
  const length = ['content-length', '5'] as const;
  const chunked = ['transfer-encoding', 'chunked'] as const;
  const host = ['host', 'gateway'] as const;
  t.equal(headOf(host, length).isAmbiguous, false);
  t.equal(headOf(host, chunked).isAmbiguous, false);
  t.equal(headOf(host, ['transfer-encoding', 'Chunked']).isAmbiguous, false);
  const ambiguous = {
    'two lengths': [length, length],
    'two hosts': [host, host],
    'a length and an encoding': [length, chunked],
    'two encodings': [chunked, chunked],
    'another encoding': [['transfer-encoding', 'gzip, chunked']],
    'a signed length': [['content-length', '+5']],
    'a length that is no number': [['content-length', '5, 5']],
    'an empty length': [['content-length', '']],
    'a length of 19 digits': [['content-length', '1'.repeat(19)]],
  } as const;
  for (const [name, lines] of Object.entries(ambiguous)) {
    t.equal(headOf(...lines).isAmbiguous, true, name);
  }
});

t.test('an expectation is met if the first is 100-continue in lower case', async (t) => {
  const isUnmet = (...values: string[]) =>
    headOf(...values.map((value) => ['expect', value] as const)).hasUnmetExpectation;
  for (const values of [[], [''], ['100-continue'], ['100-continue', 'x'], ['100-continue', '']]) {
    t.equal(isUnmet(...values), false, values.join(' + '));
  }
  for (const values of [
    ['100-Continue'],
    ['100-CONTINUE'],
    ['200-ok'],
    ['100-continue, x'],
    ['x', '100-continue'],
    ['', '100-continue'],
  ]) {
    t.equal(isUnmet(...values), true, values.join(' + '));
  }
});

t.test('close among the words of Connection is the last request, in any line', async (t) => {
  const isLast = (...values: string[]) =>
    headOf(...values.map((value) => ['connection', value] as const)).isLastRequest;
  for (const values of [
    ['close'],
    ['TE, close'],
    ['Close,TE'],
    ['TE \t,\tCLOSE ,'],
    ['TE', 'close'],
  ]) {
    t.equal(isLast(...values), true, values.join(' + '));
  }
  for (const values of [[], [''], ['keep-alive'], ['closed, not-close'], ['Upgrade', 'TE']]) {
    t.equal(isLast(...values), false, values.join(' + '));
  }
});

t.test('addresses of several X-Forwarded-For headers stand in their order', async (t) => {
  const lines = ['192.0.2.1, 192.0.2.2', '192.0.2.3'].map(
    (value) => ['x-forwarded-for', value] as const,
  );
  t.equal(headOf(...lines).forwardedFor, '192.0.2.1, 192.0.2.2, 192.0.2.3');
});

t.test('what may come once is counted', async (t) => {
  const head = headOf(['idempotency-key', 'a'], ['idempotency-key', 'b'], ['last-event-id', '1']);
  t.match(head, { idempotencyKeyCount: 2, lastEventId: '1', lastEventIdCount: 1 });
});
