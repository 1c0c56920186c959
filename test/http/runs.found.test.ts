import test from 'ava';
import { user } from '../servers/client.ts';
import { codeOf, serve } from './service.ts';

const { send, data, refused } = serve(test, 'asking');

interface Item {
  readonly run_id: string;
  readonly thread_id: string;
  readonly thread_title: string | null;
  readonly status: string;
  readonly created_at: string;
  readonly started_at?: string;
  readonly ended_at?: string;
  readonly nodes?: readonly string[];
  readonly question?: string;
}
interface List {
  readonly runs: readonly Item[];
  readonly has_more: boolean;
  readonly cursor?: string;
}
interface Counts {
  readonly total: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly days: readonly { readonly day: string; readonly total: number }[];
  readonly timezone: string;
  readonly duration_ms?: { readonly median: number; readonly p95: number };
}

const list = (t: Parameters<typeof data>[0], query: string): Promise<List> =>
  data(t, 'listOwnRuns', send('GET', `/v1/runs?${query}`));
const counts = (t: Parameters<typeof data>[0], query: string): Promise<Counts> =>
  data(t, 'countRuns', send('GET', `/v1/runs/counts?${query}`));

const runOn = (thread_id: string, text: string) =>
  send('POST', '/v1/graph/invoke', { messages: [user(text)], config: { thread_id } });

test.serial('a run that waits says what it asks, what its thread is called, and its times', async (t) => {
  t.is((await runOn('first', 'Was order A-1042\ncharged twice?')).status, 200);
  const [run] = (await list(t, 'status=interrupted&search=a-1042')).runs;
  t.like(run, { thread_id: 'first', thread_title: 'Was order A-1042 charged twice?', question: 'What is your name?' });
  t.is(run?.nodes?.length, 1);
  const times = [run?.created_at, run?.started_at, run?.ended_at].map((time) => Date.parse(time ?? ''));
  t.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  t.is((await list(t, `node=${run?.nodes?.[0] ?? ''}`)).runs.length, 1);
  const thread = await data(t, 'getThread', send('GET', '/v1/threads/first'));
  t.like(thread, { thread_name: null, title: 'Was order A-1042 charged twice?' });
  const inbox: { items: readonly { title: string }[] } = await data(t, 'listInbox', send('GET', '/v1/inbox'));
  t.is(inbox.items[0]?.title, 'Was order A-1042 charged twice?');
});

test.serial('runs are found by time, duration and text, and counted by the same filters', async (t) => {
  t.is((await runOn('second', 'another')).status, 200);
  const { runs } = await list(t, '');
  t.is(runs.length, 2);
  const [newest, oldest] = runs;
  const from = encodeURIComponent(newest?.created_at ?? '');
  t.deepEqual((await list(t, `from=${from}`)).runs, [newest]);
  t.deepEqual((await list(t, `to=${from}`)).runs, [oldest]);
  t.deepEqual((await list(t, 'min_duration_ms=3600000')).runs, []);
  t.is((await list(t, 'max_duration_ms=3600000')).runs.length, 2);
  t.deepEqual((await list(t, 'error=anything')).runs, []);
  t.deepEqual((await list(t, 'revision=r1')).runs, []);
  const all = await counts(t, 'timezone=Europe/Berlin');
  t.like(all, { total: 2, counts: { interrupted: 2 }, timezone: 'Europe/Berlin' });
  t.is(
    all.days.reduce((sum, { total }) => sum + total, 0),
    2,
  );
  t.true((all.duration_ms?.p95 ?? -1) >= (all.duration_ms?.median ?? 0));
  t.like(await counts(t, `from=${from}`), { total: 1, timezone: 'UTC' });
  t.deepEqual(await counts(t, 'status=failed'), { total: 0, counts: {}, days: [], timezone: 'UTC' });
});

test.serial('a page continues only the list that gave it', async (t) => {
  const { cursor = '' } = await list(t, 'limit=1&search=o');
  t.is((await list(t, `limit=1&search=o&cursor=${cursor}`)).runs.length, 1);
  await refused(t, send('GET', `/v1/runs?limit=1&search=a&cursor=${cursor}`), 422, codeOf(422));
});

test('what is no time, no time zone or no duration is refused by its name', async (t) => {
  for (const [query, name] of [
    ['from=yesterday', 'from'],
    ['to=', 'to'],
    ['min_duration_ms=-1', 'min_duration_ms'],
    ['max_duration_ms=long', 'max_duration_ms'],
    ['search=', 'search'],
    [`error=${'x'.repeat(1025)}`, 'error'],
    ['colour=red', 'colour'],
  ] as const)
    for (const path of ['/v1/runs', '/v1/runs/counts'])
      t.deepEqual(await refused(t, send('GET', `${path}?${query}`), 422, codeOf(422)), [['query', name]], query);
  for (const zone of ['Mars/Olympus', '+02:00', ''])
    t.deepEqual(
      await refused(t, send('GET', `/v1/runs/counts?timezone=${encodeURIComponent(zone)}`), 422, codeOf(422)),
      [['query', 'timezone']],
    );
});
