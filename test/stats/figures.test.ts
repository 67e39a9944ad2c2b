import t from 'tap';
import { figuresOf, quantile } from '../../src/stats/figures.js';
import { parseScrape } from '../../src/stats/scrape.js';
import { statsScreen } from '../../src/stats/screen.js';

function scrape(at: number, parts: readonly string[] = []): ReturnType<typeof parseScrape> {
  return parseScrape([`signalbox_wall_clock_seconds ${at}`, ...parts].join('\n'));
}

t.test('the text format is read: labels, escapes, exponents; comments are not', (t) => {
  const found = parseScrape(
    [
      '# HELP signalbox_a_total What it is.',
      '# TYPE signalbox_a_total counter',
      'signalbox_a_total{x="1",y="a \\"quoted\\" word, and more"} 3',
      'signalbox_a_total{x="2",y=""} 1.5e-7',
      'signalbox_b NaN',
      'another_metric 7',
      '',
    ].join('\n'),
  );
  t.same([...found.keys()], ['a_total', 'b']);
  t.same(found.get('a_total'), [
    { labels: { x: '1', y: 'a \\"quoted\\" word, and more' }, value: 3 },
    { labels: { x: '2', y: '' }, value: 1.5e-7 },
  ]);
  t.end();
});

t.test('rates are of the time between two scrapes, by the clock of the gateway', (t) => {
  const before = scrape(100, [
    'signalbox_signals_accepted_total 10',
    'signalbox_http_requests_total{operation="a",status="202"} 10',
    'signalbox_http_requests_total{operation="a",status="429"} 1',
    'signalbox_executions_total{status="filled"} 4',
    'signalbox_executions_total{status="denied"} 4',
  ]);
  const after = scrape(102, [
    'signalbox_signals_accepted_total 30',
    'signalbox_http_requests_total{operation="a",status="202"} 30',
    'signalbox_http_requests_total{operation="a",status="429"} 5',
    'signalbox_http_requests_total{operation="b",status="404"} 6',
    'signalbox_http_requests_total{operation="b",status="500"} 2',
    'signalbox_http_requests_total{operation="b",status="aborted"} 1',
    'signalbox_executions_total{status="filled"} 7',
    'signalbox_executions_total{status="denied"} 4',
  ]);
  const figures = figuresOf(before, after);
  t.equal(figures.intervalSeconds, 2);
  t.equal(figures.signalsPerSecond, 10);
  t.equal(figures.signalsAccepted, 30);
  t.same(figures.answers, { '2xx': 10, '4xx': 3, '429': 2, '5xx': 1, aborted: 0.5 });
  t.same(figures.executionsPerSecond, { filled: 1.5 }, 'what did not move is left out');
  t.end();
});

t.test(
  'a gateway started anew, or a clock set back, gives no rate, and never a negative one',
  (t) => {
    const many = ['signalbox_signals_accepted_total 30'];
    const few = ['signalbox_signals_accepted_total 2'];
    t.equal(figuresOf(scrape(1, many), scrape(2, few)).signalsPerSecond, null);
    t.equal(figuresOf(scrape(2, few), scrape(1, many)).signalsPerSecond, null);
    t.end();
  },
);

t.test(
  'a gateway started anew gives no rate, also when it has counted more than the one before',
  (t) => {
    const few = ['signalbox_process_start_time_seconds 1', 'signalbox_signals_accepted_total 2'];
    const many = ['signalbox_process_start_time_seconds 2', 'signalbox_signals_accepted_total 30'];
    t.match(figuresOf(scrape(1, few), scrape(3, many)), {
      signalsPerSecond: null,
      signalsAccepted: 30,
      uptimeSeconds: 1,
    });
    t.end();
  },
);

t.test('quantiles are of what came between the two scrapes', (t) => {
  const buckets = (counts: readonly number[]) =>
    ['0.001', '0.01', '0.1', '+Inf'].map(
      (le, i) => `signalbox_accept_duration_seconds_bucket{le="${le}"} ${counts[i] as number}`,
    );
  const before = scrape(1, buckets([1_000, 1_000, 1_000, 1_000]));
  const after = scrape(2, buckets([1_050, 1_090, 1_100, 1_100]));
  const { accept, commit } = figuresOf(before, after).latencySeconds;
  t.equal(accept.p50, 0.001);
  t.equal(Number(accept.p99?.toFixed(6)), 0.091);
  t.same(commit, { p50: null, p99: null }, 'of nothing there is none');
  t.same(figuresOf(after, after).latencySeconds.accept, { p50: null, p99: null });
  const anew = new Map([...after, ['process_start_time_seconds', [{ labels: {}, value: 1 }]]]);
  const { p50 } = figuresOf(before, anew).latencySeconds.accept;
  t.equal(Number(p50?.toFixed(6)), 0.000524, 'of all that a gateway started in between did');
  t.equal(
    quantile(
      [
        { bound: 60, count: 0 },
        { bound: Infinity, count: 5 },
      ],
      0.5,
    ),
    60,
  );
  t.end();
});

t.test('one of a kind is told in the singular', (t) => {
  const figures = figuresOf(scrape(1), scrape(2));
  const screen = statsScreen('u', {
    ...figures,
    connectedPlugins: 1,
    commitsFailed: 1,
    openStreams: 2,
  });
  t.match(screen, /- executions, 1 terminal, 2 streams, /);
  t.match(screen, /1 commit, /);
  t.end();
});

t.test('what a scrape does not tell is null, and shown as a dash', (t) => {
  const figures = figuresOf(scrape(1), scrape(2));
  t.match(figures, { version: null, ready: null, residentBytes: null, diskFreeBytes: null });
  const screen = statsScreen('http://127.0.0.1:9464', figures);
  t.match(screen, /signalbox - {2}http:\/\/127\.0\.0\.1:9464/);
  t.match(screen, /store -, free -/);
  t.notMatch(screen, /NaN|null|undefined/);
  t.end();
});

t.test('a gateway that is not ready is not to be overlooked', (t) => {
  const figures = figuresOf(scrape(1), scrape(2, ['signalbox_ready 0']));
  t.match(statsScreen('u', figures), /NOT READY/);
  t.end();
});

t.test('a halt is not to be overlooked', (t) => {
  const halted = figuresOf(scrape(1), scrape(2, ['signalbox_trading_halted 1']));
  t.match(statsScreen('u', halted), /TRADING HALTED/);
  const goingOn = figuresOf(scrape(1), scrape(2, ['signalbox_trading_halted 0']));
  t.equal(goingOn.halted, false);
  t.notMatch(statsScreen('u', goingOn), /HALTED/);
  t.end();
});

t.test('a disabled Public API is not to be overlooked', (t) => {
  const disabled = figuresOf(scrape(1), scrape(2, ['signalbox_public_api_disabled 1']));
  t.match(statsScreen('u', disabled), /PUBLIC API DISABLED/);
  const enabled = figuresOf(scrape(1), scrape(2, ['signalbox_public_api_disabled 0']));
  t.equal(enabled.publicApiDisabled, false);
  t.notMatch(statsScreen('u', enabled), /DISABLED/);
  t.end();
});
