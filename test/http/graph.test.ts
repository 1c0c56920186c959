import test from 'ava';
import { codeOf, serve } from './service.ts';

const { send, data } = serve(test);
const choosing = serve(test, 'choosing');
const withoutAgent = serve(test, null);

test('the graph is drawn with its nodes', async (t) => {
  const { graph } = (await data(t, 'getGraph', send('GET', '/v1/graph'))) as { graph: object };
  t.regex(JSON.stringify(graph), /obey/);
});

test('the state schema lists every field, by either spelling of its path', async (t) => {
  for (const path of ['/v1/graph:StateSchema', '/v1/graph%3AStateSchema', '/v1/graph%3aStateSchema']) {
    const { fields } = (await data(t, 'getStateSchema', send('GET', path))) as { fields: Record<string, object> };
    t.deepEqual(Object.keys(fields).sort(), ['context', 'context_summary', 'notes', 'rounds']);
    t.like(fields['rounds'], { type: 'number', description: 'Rounds worked', default: 0 });
  }
});

test('a field has the schema of its values, which is also that of the property unless it refers to itself', async (t) => {
  const reply = choosing.data(t, 'getStateSchema', choosing.send('GET', '/v1/graph:StateSchema'));
  const { fields, properties } = (await reply) as Readonly<Record<'fields' | 'properties', Record<string, object>>>;
  const season = { type: 'string', enum: ['summer', 'winter'] };
  t.deepEqual(fields['season'], { type: 'string', schema: season, default: 'winter' });
  t.deepEqual(properties['season'], { ...season, default: 'winter' });
  t.like(properties['days'], { type: 'integer', minimum: 1, maximum: 30 });
  t.like(fields['town'], { schema: { $ref: '#/$defs/town' } });
  t.deepEqual(properties['town'], { type: 'string' });
  t.false('schema' in (fields['context'] ?? {}));
});

test('without an agent the graph routes are 404', async (t) => {
  const { send: sendTo, refused } = withoutAgent;
  const body = { messages: [{ role: 'user', content: 'hello' }] };
  for (const [method, path, given] of [
    ['GET', '/v1/graph', undefined],
    ['GET', '/v1/graph:StateSchema', undefined],
    ['POST', '/v1/graph/invoke', body],
    ['POST', '/v1/graph/stream', body],
  ] as const) {
    await refused(t, sendTo(method, path, given), 404, codeOf(404));
  }
});
