import test from 'ava';
import type { Checkpoint, StreamMode, ThreadState } from '@langchain/langgraph-sdk';
import { openGate } from '../../servers/gate.ts';
import { agentAt } from '../../servers/standalone.ts';
import { serveLangGraph } from './service.ts';

// The fields of the input of a run stand in the state from its beginning, merged with those of its thread.

const service = serveLangGraph(test, {}, { gated: agentAt('lang-graph-tasks').replace(/:graph$/, ':gated') });

interface Values {
  readonly notes: readonly string[];
  readonly text?: string;
}

const notesOf = ({ values }: ThreadState<Values>) => values.notes;

test('while the first node runs, the state and the first frames have the fields of the input', async (t) => {
  await using gate = await openGate();
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  await client.runs.wait(id, 'gated', { input: { notes: ['a'] } });
  const payload = { input: { notes: ['b'], text: 't' }, config: { configurable: { gate: gate.url } } };
  const { run_id: run } = await client.runs.create(id, 'gated', payload);
  await gate.visited(1);
  const state = await client.threads.getState<Values>(id);
  t.deepEqual([state.next, state.values.text], [['wait'], 't']);
  t.deepEqual(notesOf(state), ['a', 'of 1', 'end', 'b']);
  const streamMode: StreamMode[] = ['values', 'tasks', 'checkpoints'];
  const frames: { readonly event: string; readonly data: unknown }[] = [];
  for await (const frame of client.runs.joinStream(id, run, { streamMode })) {
    frames.push(frame);
    if (frames.length === 5) gate.open();
  }
  const notes = ['a', 'of 1', 'end', 'b'];
  t.like(frames, {
    1: { event: 'checkpoints', data: { values: { notes: ['a', 'of 1', 'end'] }, next: ['__start__'] } },
    2: { event: 'values', data: { notes, text: 't' } },
    3: { event: 'checkpoints', data: { values: { notes, text: 't' }, next: ['wait'], metadata: { step: 0 } } },
    4: { event: 'tasks', data: { name: 'wait', input: { notes, text: 't' } } },
    5: { event: 'tasks', data: { name: 'wait', result: { notes: ['of 4'] } } },
    7: { event: 'checkpoints', data: { metadata: { step: 1 } } },
  });
  const history = await client.threads.getHistory<Values>(id, { limit: 5 });
  t.deepEqual(
    history.map(({ metadata, next }) => [(metadata as { step: number }).step, ...next]),
    [[2], [1, 'end'], [0, 'wait'], [-1, '__start__'], [2]],
  );
  t.deepEqual(history.map(notesOf)[2], notes);
});

test('an update and a command at the checkpoint of an input are added to its fields', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  await client.runs.wait(id, 'gated', { input: { notes: ['a'], text: 't' } });
  const [, , first, before] = await client.threads.getHistory<Values>(id);
  const checkpoint = first?.checkpoint as Checkpoint;
  t.deepEqual(first && notesOf(first), ['a']);
  await client.threads.updateState(id, { values: { notes: ['u'] }, checkpoint });
  t.deepEqual(notesOf(await client.threads.getState<Values>(id)), ['a', 'u']);
  t.like(await client.runs.wait(id, 'gated', { input: null }), { notes: ['a', 'u', 'of 2', 'end'], text: 't' });
  const command = { update: { notes: ['c'] } };
  t.like(await client.runs.wait(id, 'gated', { command, checkpoint }), { notes: ['a', 'c', 'of 2', 'end'], text: 't' });
  const again = await client.runs.wait(id, 'gated', { input: null, checkpoint: before?.checkpoint as Checkpoint });
  t.like(again, { notes: ['a', 'of 1', 'end'], text: 't' });
});

test('a run that is stopped in its first node goes on with its input, which counts once', async (t) => {
  await using gate = await openGate();
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const payload = { input: { notes: ['a'] }, config: { configurable: { gate: gate.url } } };
  const { run_id: run } = await client.runs.create(id, 'gated', payload);
  await gate.visited(1);
  await client.runs.cancel(id, run, true);
  t.deepEqual(notesOf(await client.threads.getState<Values>(id)), ['a']);
  t.like(await client.runs.wait(id, 'gated', { input: null }), { notes: ['a', 'of 1', 'end'] });
});

interface Talk {
  readonly messages: readonly { readonly id: string; readonly content: string }[];
}

test('the input of a run removes messages, one by its id and all that were there, and one that is not there fails it', async (t) => {
  await using gate = await openGate();
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const human = (own: string) => ({ type: 'human', id: own, content: own });
  const remove = (own: string) => ({ type: 'remove', id: own, content: '' });
  const texts = async (): Promise<string[]> =>
    (await client.threads.getState<Talk>(id)).values.messages.map(({ content }) => content);
  await client.runs.wait(id, 'gated', { input: { messages: [human('a'), human('b')] } });
  const config = { configurable: { gate: gate.url } };
  const { run_id: run } = await client.runs.create(id, 'gated', {
    ...{ input: { messages: [remove('a'), human('c')] }, config },
  });
  await gate.visited(1);
  t.deepEqual(await texts(), ['b', 'c']);
  gate.open();
  t.like(await client.runs.join(id, run), { messages: [{ id: 'b' }, { id: 'c' }] });
  const failed = await client.runs.wait(id, 'gated', { input: { messages: [remove('nope')] }, raiseError: false });
  t.like(failed, { __error__: { message: 'messages: has no message "nope" to remove' } });
  t.deepEqual(await texts(), ['b', 'c']);
  await client.runs.wait(id, 'gated', { input: { messages: [remove('__remove_all__'), human('d')] } });
  t.deepEqual(await texts(), ['d']);
});
