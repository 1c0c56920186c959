import test from 'ava';
import { counter, gauge, histogram, openRegistry } from './metrics.ts';

const metrics = {
  listed: counter('test_listed_total', 'By a closed list', { kind: ['a', 'b'] }),
  few: counter('test_few_total', 'By so many names', { node: 2 }),
  asked: gauge('test_asked', 'Asked for'),
  total: counter('test_total', 'A total that is asked for'),
  time: histogram('test_seconds', 'Time', {}, [1, 2]),
};

async function linesOf(registry: Awaited<ReturnType<typeof openRegistry>>): Promise<string[]> {
  return (await registry.read()).text.split('\n').filter((line) => line.startsWith('test_'));
}

test('a label has the values of its list, or so many as it may; whatever else comes is other', async (t) => {
  using registry = await openRegistry();
  const { listed, few } = registry.make(metrics);
  for (const kind of ['a', 'b', 'a', 'owner-7', '']) listed.add({ kind });
  for (const node of ['x', 'y', 'z', 'w', 'x']) few.add({ node });
  const lines = await linesOf(registry);
  t.deepEqual(
    lines.filter((line) => /listed|few/.test(line)),
    [
      'test_listed_total{kind="a"} 2',
      'test_listed_total{kind="b"} 1',
      'test_listed_total{kind="other"} 2',
      'test_few_total{node="x"} 2',
      'test_few_total{node="y"} 1',
      'test_few_total{node="other"} 2',
    ],
  );
});

test('a gauge that is asked tells what stands at the moment, a histogram counts what lies below its bounds', async (t) => {
  using registry = await openRegistry();
  const { asked, time } = registry.make(metrics);
  let value: number | undefined;
  asked.collect(() => value);
  t.false(
    (await linesOf(registry)).some((line) => line.startsWith('test_asked')),
    'nobody has said anything yet',
  );
  value = 1;
  for (const seconds of [0.5, 1.5, 9]) time.observe({}, seconds);
  t.true((await linesOf(registry)).includes('test_asked 1'));
  value = 5;
  const lines = await linesOf(registry);
  for (const line of ['test_asked 5', 'test_seconds_bucket{le="2"} 2', 'test_seconds_count 3', 'test_seconds_sum 11'])
    t.true(lines.includes(line), `${line} in ${lines.join('\n')}`);
});

test('a counter that is asked has the total of the moment, each time it is read', async (t) => {
  using registry = await openRegistry();
  const { total } = registry.make(metrics);
  let count = 0;
  total.collect(() => count);
  for (const now of [0, 3, 3, 7]) {
    count = now;
    t.true((await linesOf(registry)).includes(`test_total ${now}`));
  }
});

test('the process measures itself beside what it is told to', async (t) => {
  using registry = await openRegistry();
  const { text, type } = await registry.read();
  t.regex(type, /^text\/plain/);
  for (const name of ['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds', 'process_cpu_seconds_total'])
    t.true(text.includes(`\n${name} `), name);
});
