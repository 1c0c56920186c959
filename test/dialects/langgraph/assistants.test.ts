import test from 'ava';
import { graphId, ownId, refused, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
const assistants = () => service.client().assistants;

test('the service says that it is there, and what it is', async (t) => {
  t.deepEqual((await service.send('GET', '/ok')).body, { ok: true, services: {} });
  t.like((await service.send('GET', '/info')).body, { flags: { assistants: true, crons: true } });
  t.deepEqual((await service.send('GET', '/nothing')).body, { detail: 'Not Found' });
  t.is((await service.send('PUT', '/info', {})).status, 405);
});

test('each graph has an assistant of its own, under the id that clients expect', async (t) => {
  const own = await assistants().get(ownId);
  t.like(own, { assistant_id: ownId, graph_id: graphId, name: graphId, version: 1, description: null });
  t.deepEqual([own.config, own.context, own.metadata], [{}, {}, { created_by: 'system' }]);
  t.is(await refused(t, assistants().get(graphId), 422), 'Invalid assistant ID: must be a UUID');
  t.is(await refused(t, assistants().get('00000000-0000-4000-8000-000000000000'), 404), 'Not Found');
  t.like(await assistants().getVersions(ownId), { length: 1, 0: { assistant_id: ownId, version: 1 } });
  t.is((await assistants().setLatest(ownId, 1)).version, 1);
  await refused(t, assistants().setLatest(ownId, 2), 404);
  await refused(t, assistants().update(ownId, { name: 'mine' }), 409);
  await refused(t, assistants().delete(ownId), 409);
});

test('an assistant is made, changed, brought back to a version, and deleted', async (t) => {
  const config = { configurable: { tone: 'dry' }, recursion_limit: 9 };
  const made = await assistants().create({ graphId, config, metadata: { team: 'blue', floor: 2 }, name: 'dry one' });
  t.like(made, { graph_id: graphId, config, context: { tone: 'dry' }, metadata: { team: 'blue' }, version: 1 });
  const id = made.assistant_id;
  t.is(
    await refused(t, assistants().create({ graphId, assistantId: id, ifExists: 'raise' }), 409),
    `Assistant ${id} already exists`,
  );
  t.deepEqual(await assistants().create({ graphId, assistantId: id, ifExists: 'do_nothing' }), made);
  const changed = await assistants().update(id, { metadata: { team: 'red' }, graphId: 'office' });
  t.like(changed, { version: 2, metadata: { team: 'red', floor: 2 }, graph_id: 'office', config });
  const versions = await assistants().getVersions(id);
  t.deepEqual(
    versions.map(({ version, metadata }) => [version, metadata]),
    [
      [2, { team: 'red', floor: 2 }],
      [1, { team: 'blue', floor: 2 }],
    ],
  );
  t.deepEqual(
    (await assistants().getVersions(id, { metadata: { team: 'blue' } })).map(({ version }) => version),
    [1],
  );
  t.like(await assistants().setLatest(id, 1), { version: 1, metadata: { team: 'blue', floor: 2 } });
  t.is(await refused(t, assistants().delete(id, { deleteThreads: true }), 422), detailOfDeletion);
  await assistants().delete(id);
  await refused(t, assistants().get(id), 404);
});

const detailOfDeletion = 'query.delete_threads: must be false: threads stay with their assistants deleted';

test('assistants are searched and counted by graph, name and metadata', async (t) => {
  const metadata = { search: 'yes' };
  for (const name of ['alpha', 'beta', 'gamma']) await assistants().create({ graphId, name, metadata });
  t.is(await assistants().count({ metadata }), 3);
  const found = await assistants().search({ metadata, sortBy: 'name', sortOrder: 'asc', limit: 2 });
  t.deepEqual(
    found.map(({ name }) => name),
    ['alpha', 'beta'],
  );
  const page = await service.send('POST', '/assistants/search', { metadata, limit: 2 });
  t.deepEqual([page.headers.get('x-pagination-total'), page.headers.get('x-pagination-next')], ['3', '2']);
  const last = await service.send('POST', '/assistants/search', { metadata, limit: 2, offset: 2, select: ['name'] });
  t.deepEqual([last.body, last.headers.get('x-pagination-next')], [[{ name: 'alpha' }], null]);
  t.like(await assistants().search({ name: 'BET' }), { length: 1, 0: { name: 'beta' } });
  t.like(await assistants().search({ graphId: 'office' }), { 0: { graph_id: 'office' } });
  await refused(t, assistants().create({ graphId: 'nobody' }), 422);
});

test('a graph is drawn as LangGraph draws it, and has schemas', async (t) => {
  const { nodes, edges } = await assistants().getGraph(ownId);
  t.deepEqual(
    nodes.map(({ id }) => id),
    ['__start__', 'think', 'gate', '__end__'],
  );
  t.deepEqual(nodes[1], { id: 'think', type: 'runnable', data: { name: 'think' } });
  t.deepEqual(edges, [
    { source: '__start__', target: 'think' },
    { source: 'think', target: 'gate' },
    { source: 'gate', target: '__end__' },
  ]);
  t.deepEqual(await assistants().getGraph(graphId), { nodes, edges });
  t.is(await refused(t, assistants().getGraph('nobody'), 422), 'Invalid assistant ID: must be a UUID');
  const schemas = await assistants().getSchemas(ownId);
  t.is(schemas.graph_id, graphId);
  t.deepEqual(Object.keys(schemas.state_schema?.properties ?? {}).toSorted(), [
    'answer',
    'context_summary',
    'count',
    'messages',
  ]);
  t.deepEqual(await assistants().getSubgraphs(ownId), {});
});
