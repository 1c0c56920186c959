import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { graphId, serveLangGraph } from './service.ts';

const service = serveLangGraph(test, {}, { showing: agentAt('lang-graph-tasks').replace(/:graph$/, ':showing') });
const assistants = () => service.client().assistants;

interface Findings {
  readonly configurable: Readonly<Record<string, unknown>>;
  readonly context: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

async function findingsOf(assistant: string, payload: object): Promise<Findings> {
  const { text } = (await service.client().runs.wait(null, assistant, { input: {}, ...payload })) as { text: string };
  return JSON.parse(text) as Findings;
}

/** What a node finds under a name, in both places. */
async function found(name: string, assistant: string, payload: object): Promise<unknown[]> {
  const { configurable, context } = await findingsOf(assistant, payload);
  return [configurable[name], context[name]];
}

test('a node finds the context of its run in what is configurable, and that in the context', async (t) => {
  t.deepEqual(await found('tone', 'showing', { context: { tone: 'wet' } }), ['wet', 'wet']);
  t.deepEqual(await found('tone', 'showing', { config: { configurable: { tone: 'dry' } } }), ['dry', 'dry']);
  const { configurable } = await findingsOf('showing', {
    context: { run_id: 'x', thread_id: 'y', langgraph_auth_user_id: 'z' },
  });
  t.not(configurable['run_id'], 'x');
  t.not(configurable['thread_id'], 'y');
  t.is(configurable['langgraph_auth_user_id'], '');
});

test('what a run says stands above what its assistant says, wherever either says it', async (t) => {
  const make = async (content: object) => (await assistants().create({ graphId: 'showing', ...content })).assistant_id;
  for (const given of [
    { context: { tone: 'of the assistant', more: 1 } },
    { config: { configurable: { tone: 'of the assistant', more: 1 } } },
  ]) {
    const id = await make(given);
    t.deepEqual(await found('tone', id, {}), ['of the assistant', 'of the assistant']);
    for (const own of [{ context: { tone: 'own' } }, { config: { configurable: { tone: 'own' } } }]) {
      t.deepEqual(await found('tone', id, own), ['own', 'own'], JSON.stringify([given, own]));
      t.deepEqual(await found('more', id, own), [1, 1]);
    }
  }
});

test('an assistant shows its context as what is configurable, and a run does', async (t) => {
  const made = await assistants().create({ graphId: 'showing', context: { tone: 'dry' } });
  const { assistant_id: id } = made;
  t.deepEqual([made.config, made.context], [{ configurable: { tone: 'dry' } }, { tone: 'dry' }]);
  const config = { configurable: { pace: 2 }, tags: ['t'] };
  const changed = await assistants().update(id, { config });
  t.deepEqual([changed.config, changed.context], [config, { pace: 2 }]);
  const back = await assistants().update(id, { context: { pace: 3 } });
  t.deepEqual([back.config, back.context], [{ configurable: { pace: 3 }, tags: ['t'] }, { pace: 3 }]);
  t.deepEqual(await found('pace', id, {}), [3, 3]);
  const { thread_id: thread } = await service.client().threads.create();
  const run = await service.client().runs.create(thread, id, { input: {}, context: { tone: 'wet' } });
  await service.client().runs.join(thread, run.run_id);
  const { kwargs } = (await service.client().runs.get(thread, run.run_id)) as unknown as {
    readonly kwargs: { readonly context: object; readonly config: { readonly configurable: object } };
  };
  t.like(kwargs, { context: { tone: 'wet' }, config: { configurable: { tone: 'wet' } } });
});

test('the metadata of a run stand in those of its frames, in every stream of it, and reach its nodes', async (t) => {
  const { runs, threads } = service.client();
  const given = { batch: 7, run_id: 'forged', graph_id: 'forged' };
  const config = { metadata: { batch: 1, of: 'config' } };
  const { metadata } = await findingsOf('showing', { metadata: given, config });
  t.like(metadata, { batch: 7, of: 'config', graph_id: 'showing' });
  const input = { messages: [{ role: 'user', content: 'hello' }] };
  const streamMode = ['messages-tuple' as const, 'tasks' as const];
  for (const after of [0, 1]) {
    const { thread_id: id } = await threads.create();
    const more = after > 0 ? { afterSeconds: after } : {};
    const frames: { readonly event: string; readonly data: unknown }[] = [];
    for await (const { event, data } of runs.stream(id, graphId, {
      input,
      metadata: given,
      config,
      streamMode,
      ...more,
    } as never))
      frames.push({ event, data });
    const shown = frames.flatMap(({ event, data }) => {
      const [, ofMessage] = event === 'messages' ? (data as [unknown, object]) : [];
      const { metadata: ofTask } = event === 'tasks' ? (data as { readonly metadata?: object }) : {};
      return ofMessage ?? ofTask ?? [];
    });
    t.true(shown.length > 2);
    for (const one of shown) t.like(one, { batch: 7, of: 'config', graph_id: graphId, created_by: 'system' });
    const [run] = await runs.list(id);
    t.like(run, { metadata: { batch: 7, of: 'config' } });
    const again: typeof frames = [];
    for await (const { event, data } of runs.joinStream(id, run?.run_id ?? '', { streamMode }))
      again.push({ event, data });
    t.deepEqual(again, frames);
  }
});

test('metadata of more than 4 KiB stand in no frame, which would repeat them with each chunk', async (t) => {
  const { runs, threads } = service.client();
  const { thread_id: id } = await threads.create();
  const request = { input: { messages: [{ role: 'user', content: 'hello' }] }, metadata: { long: 'x'.repeat(5000) } };
  const shown: object[] = [];
  for await (const { event, data } of runs.stream(id, graphId, { ...request, streamMode: 'messages-tuple' } as never))
    if (event === 'messages') shown.push((data as readonly [unknown, object])[1]);
  t.true(shown.length > 0);
  for (const one of shown) t.false('long' in one);
  t.like((await runs.list(id))[0], { metadata: request.metadata });
});
