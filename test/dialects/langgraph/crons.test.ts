import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { embeddedOnly } from '../../http/shape.ts';
import { openRecordFile } from '../../servers/record-file.ts';
import { graphId, ownId, refused, serveLangGraph } from './service.ts';

const folder = await mkdtemp(join(tmpdir(), 'aws-crons-'));
const service = serveLangGraph(test, { DATA_DIR: folder });
test.after.always(() => rm(folder, { recursive: true, force: true }));
const crons = () => service.client().crons;
const daily = {
  schedule: '0 9 * * *',
  timezone: 'Europe/Berlin',
  input: { messages: [{ role: 'user', content: 'daily' }] },
};

/** What the client calls a run is the cron. */
interface Cron {
  readonly cron_id: string;
  readonly [name: string]: unknown;
}

test('a cron is made, read, changed and deleted', async (t) => {
  const made = (await crons().create(graphId, {
    ...daily,
    metadata: { of: 'one' },
    onRunCompleted: 'keep',
  })) as unknown as Cron;
  t.like(made, {
    assistant_id: ownId,
    thread_id: null,
    schedule: '0 9 * * *',
    timezone: 'Europe/Berlin',
    enabled: true,
  });
  t.like(made, { metadata: { of: 'one' }, on_run_completed: 'keep', end_time: null });
  t.regex(String(made['next_run_date']), /T0[78]:00:00/);
  const read = await service.send('GET', `/runs/crons/${made.cron_id}`);
  t.deepEqual(read.body, made);
  const paused = (await crons().update(made.cron_id, { enabled: false })) as unknown as Cron;
  t.like(paused, { enabled: false, schedule: '0 9 * * *' });
  const resumed = (await crons().update(made.cron_id, { enabled: true, schedule: '30 8 * * *' })) as unknown as Cron;
  t.like(resumed, { enabled: true, schedule: '30 8 * * *', timezone: 'Europe/Berlin' });
  await crons().delete(made.cron_id);
  await refused(t, crons().delete(made.cron_id), 404);
  t.regex(
    await refused(t, crons().create(graphId, { ...daily, schedule: 'every day' }), 422),
    /^Invalid cron schedule: 'every day'/,
  );
  await refused(t, crons().create('nobody', daily), 422);
});

test('crons are searched and counted', async (t) => {
  const { thread_id: threadId } = await service.client().threads.create({ graphId });
  const metadata = { search: 'crons' };
  await crons().createForThread(threadId, graphId, { ...daily, metadata });
  await crons().create('office', { ...daily, metadata, enabled: false });
  t.is(await crons().count({ metadata }), 2);
  t.is(await crons().count({ threadId }), 1);
  t.like(await crons().search({ threadId }), { length: 1, 0: { thread_id: threadId } });
  t.like(await crons().search({ metadata, enabled: false }), { length: 1, 0: { enabled: false } });
  t.like(await crons().search({ assistantId: 'office' }), { length: 1 });
  const page = await service.send('POST', '/runs/crons/search', { metadata, limit: 1 });
  t.deepEqual([page.headers.get('x-pagination-total'), page.headers.get('x-pagination-next')], ['2', '1']);
});

embeddedOnly(test, 'a cron that cannot be read is left out', async (t) => {
  const metadata = { of: 'the unreadable' };
  const [good, bad] = (await Promise.all(
    [1, 2].map(() => crons().create(graphId, { ...daily, metadata })),
  )) as unknown as readonly [Cron, Cron];
  using db = openRecordFile(folder);
  db.prepare('UPDATE resources SET json = ? WHERE id = ?').run(Buffer.from('{"spec":'), bad.cron_id);
  t.is(await crons().count({ metadata }), 1);
  const found = (await crons().search({ metadata })) as unknown as readonly Cron[];
  t.deepEqual(
    found.map(({ cron_id: id }) => id),
    [good.cron_id],
  );
  // Runs that start later are schedules, too.
  const { thread_id: threadId } = (await service.send('POST', '/threads', {})).body as { readonly thread_id: string };
  t.is((await service.send('GET', `/threads/${threadId}/runs`)).status, 200);
});
