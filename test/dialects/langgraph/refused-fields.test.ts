import test from 'ava';
import { graphId, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);

/** What a request is refused with: 422 and this text. */
async function refusedText(path: string, body: unknown, method = 'POST'): Promise<string> {
  const { status, text, body: reply } = await service.send(method, path, body);
  return status === 422 ? (reply as { readonly detail: string }).detail : `${String(status)}: ${text}`;
}

const newThread = async (): Promise<string> => (await service.client().threads.create({ graphId })).thread_id;

test('a search refuses a field that is none, and gives all fields where none is named', async (t) => {
  const id = await newThread();
  await service.client().runs.wait(id, graphId, { input: { messages: [{ role: 'user', content: 'hello' }] } });
  const cron = { assistant_id: graphId, schedule: '0 9 * * *', metadata: { of: id } };
  await service.send('POST', '/runs/crons', cron);
  for (const [path, more, fields] of [
    ['/threads/search', { ids: [id] }, ['values', 'interrupts', 'config', 'metadata']],
    ['/assistants/search', { graph_id: graphId }, ['graph_id', 'version', 'context']],
    ['/runs/crons/search', { metadata: { of: id } }, ['payload', 'next_run_date']],
  ] as const) {
    t.regex(await refusedText(path, { select: ['metadata', 'nope'] }), /^body\.select\.1: must be one of .*metadata/);
    const { body } = await service.send('POST', path, { ...more, select: [] });
    const [first = {}] = body as readonly object[];
    for (const field of fields) t.true(Object.hasOwn(first, field), `${path} ${field}`);
  }
  const [found] = (await service.send('POST', '/threads/search', { ids: [id], select: [] })).body as readonly {
    readonly values: { readonly messages: readonly unknown[] };
  }[];
  t.is(found?.values.messages.length, 2);
  t.regex(await refusedText(`/threads/${id}/runs?select=nope`, undefined, 'GET'), /select.*must be one of run_id/);
  const { body: runs } = await service.send('GET', `/threads/${id}/runs?select=status&select=kwargs`);
  t.like(runs, { 0: { status: 'success', kwargs: { subgraphs: false } } });
});

test('a search refuses to extract under a name or from a path that is none', async (t) => {
  const of = (extract: object): Promise<string> => refusedText('/threads/search', { extract });
  t.regex(await of({ values: 'values.a' }), /^body\.extract\.values: must not be named as a field is$/);
  t.regex(await of({ 'a-b': 'values.a' }), /^body\.extract\.a-b: must have a name of letters/);
  for (const path of ['', 'thread_id', 'nope.x', '[0]'])
    t.regex(await of({ a: path }), /^body\.extract\.a: must be a path that begins with one of: config, interrupts/);
  t.is(
    (await service.send('POST', '/threads/search', { extract: { a: 'values.messages[-1]', _b1: 'metadata' } })).status,
    200,
  );
});

test('a history before what is no checkpoint is refused', async (t) => {
  const id = await newThread();
  await service.client().threads.updateState(id, { values: { answer: 'x' } });
  const text = /before: must be the id of a checkpoint$/;
  t.regex(await refusedText(`/threads/${id}/history?before=zzz`, undefined, 'GET'), text);
  for (const before of ['zzz', { checkpoint_id: 'zzz' }, { configurable: { checkpoint_id: 5 } }])
    t.regex(await refusedText(`/threads/${id}/history`, { before }), text);
  for (const before of [{}, { configurable: {} }])
    t.like((await service.send('POST', `/threads/${id}/history`, { before })).body, { length: 1 });
  t.deepEqual((await service.send('POST', `/threads/${id}/history`, { before: '1' })).body, []);
});

test('a refusal names what the request has', async (t) => {
  const id = await newThread();
  const runs = `/threads/${id}/runs`;
  const noField = 'is not a field of the state';
  const run = (body: object): Promise<string> => refusedText(runs, { assistant_id: graphId, ...body });
  t.is(await run({ input: { zzz: 1 } }), `body.input.zzz: ${noField}`);
  t.is(await run({ command: { update: { zzz: 1 } } }), `body.command.update.zzz: ${noField}`);
  t.is(await run({ input: {}, interrupt_before: ['x'] }), 'body.interrupt_before.0: the graph has no node "x"');
  t.is(await run({ input: {}, interrupt_after: ['x'] }), 'body.interrupt_after.0: the graph has no node "x"');
  t.regex(await run({ input: { answer: 'x'.repeat(2_200_000) } }), /body\.input: has \d+ bytes, more than 2097152/);
  t.is(await run({ input: { zzz: 1 }, after_seconds: 60 }), `body.input.zzz: ${noField}`);
  t.is(
    await refusedText('/runs/batch', [{ assistant_id: graphId, input: { zzz: 1 } }]),
    `body.0.input.zzz: ${noField}`,
  );
  t.is(await refusedText(`/threads/${id}/state`, { values: { zzz: 1 } }), `body.values.zzz: ${noField}`);
  const steps = { metadata: { graph_id: graphId }, supersteps: [{ updates: [{ values: { zzz: 1 } }] }] };
  t.is(await refusedText('/threads', steps), `body.supersteps.0.updates.0.values.zzz: ${noField}`);
  const cron = (body: object): Promise<string> => refusedText('/runs/crons', { assistant_id: graphId, ...body });
  t.is(await cron({ schedule: '0 9 * * *', input: { zzz: 1 } }), `body.input.zzz: ${noField}`);
  t.is(await cron({ schedule: '0 0 30 2 *' }), 'body.schedule: must name a time that comes');
  t.regex(await cron({ schedule: '0 9 * * *', end_time: '2001-01-01T00:00:00Z' }), /^body\.end_time: must leave/);
  t.is(
    await refusedText('/assistants', { graph_id: graphId, assistant_id: 'xyz' }),
    'Invalid assistant ID: must be a UUID',
  );
  for (const body of ['null', '"str"', '1'])
    t.is(await refusedText('/threads', body), 'the body must be a JSON object');
  t.is(await refusedText('/runs/batch', '"str"'), 'the body must be a JSON list');
  t.is(await refusedText('/threads', '{'), 'Invalid JSON in request body');
  for (const [params, text] of [
    [{ input: { zzz: 1 } }, `body.params.input.zzz: ${noField}`],
    [{ input: {}, interrupt_before: ['x'] }, 'body.params.interrupt_before.0: the graph has no node "x"'],
  ] as const) {
    const command = { id: 1, method: 'run.start', params: { assistant_id: graphId, ...params } };
    t.like((await service.send('POST', `/threads/${id}/commands`, command)).body, { message: text });
  }
});
