import test from 'ava';
import type { StreamMode } from '@langchain/langgraph-sdk';
import { agentAt } from '../../servers/standalone.ts';
import { serveLangGraph } from './service.ts';

const service = serveLangGraph(test, {}, { narrow: agentAt('lang-graph-tasks').replace(/:graph$/, ':narrow') });

const newThread = async (): Promise<string> => (await service.client().threads.create()).thread_id;

interface Frame {
  readonly event: string;
  readonly data: unknown;
}

async function streamed(threadId: string, payload: object): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  const streamMode: StreamMode[] = ['values', 'updates', 'tasks', 'checkpoints'];
  for await (const { event, data } of service.client().runs.stream(threadId, 'narrow', { streamMode, ...payload }))
    frames.push({ event, data });
  return frames;
}

const of = (frames: readonly Frame[], event: string): unknown[] =>
  frames.filter((frame) => frame.event === event).map(({ data }) => data);

test('a run gives out the fields of the output of its graph, and takes those of its input', async (t) => {
  const client = service.client();
  const threadId = await newThread();
  const input = { question: 'q', secret: 'given ', answer: 'given', unknown: 1 };
  t.deepEqual(await client.runs.wait(threadId, 'narrow', { input }), { answer: 'q: hidden' });
  const [run] = await client.runs.list(threadId);
  t.deepEqual(await client.runs.join(threadId, run?.run_id ?? ''), { answer: 'q: hidden' });
  t.deepEqual(await client.runs.wait(null, 'narrow', { input }), { answer: 'q: hidden' });
  const { values } = await client.threads.getState(threadId);
  t.like(values, { question: 'q', answer: 'q: hidden', secret: 'hidden', notes: ['think', 'tell'] });
  t.like((await client.threads.get(threadId)).values, { secret: 'hidden' });
});

test('values and updates of a stream have the fields of the output, tasks and checkpoints have all', async (t) => {
  const frames = await streamed(await newThread(), { input: { question: 'ask' } });
  t.deepEqual(of(frames, 'updates').slice(0, 2), [{ think: null }, { tell: { answer: 'ask: hidden' } }]);
  t.deepEqual(of(frames, 'values').slice(0, 1), [{ answer: 'ask: hidden' }]);
  t.like(of(frames, 'values').at(-1), { answer: 'ask: hidden', __interrupt__: { length: 1 } });
  t.is(of(frames, 'values').length, 2);
  const [first, second] = (of(frames, 'tasks') as { result?: object }[]).filter(({ result }) => result);
  t.deepEqual(first?.result, { secret: 'hidden', notes: ['think'] });
  t.deepEqual(second?.result, { answer: 'ask: hidden', notes: ['tell'] });
  t.like((of(frames, 'checkpoints') as { values: object }[]).at(-1)?.values, {
    secret: 'hidden',
    notes: { length: 2 },
  });
});

test('an assistant lists the fields of input, output and state apart', async (t) => {
  const client = service.client();
  const [assistant] = await client.assistants.search({ graphId: 'narrow' });
  const { input_schema, output_schema, state_schema } = await client.assistants.getSchemas(
    assistant?.assistant_id ?? '',
  );
  t.deepEqual(Object.keys(input_schema?.properties ?? {}), ['question']);
  t.deepEqual(Object.keys(output_schema?.properties ?? {}), ['answer']);
  t.true(['question', 'answer', 'secret', 'notes'].every((name) => name in (state_schema?.properties ?? {})));
});
