import { emptyCheckpoint, MemorySaver, type CheckpointTuple } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import test from 'ava';
import fc from 'fast-check';
import { StateSaver } from './state-saver.ts';

const place = (namespace: string, id?: string) => ({
  configurable: { thread_id: 't', checkpoint_ns: namespace, ...(id !== undefined && { checkpoint_id: id }) },
});

const specialOr = (channel: string, other: object): unknown => (channel.startsWith('__') ? channel : other);
const value = fc.tuple(fc.constantFrom('items', 'messages', '__resume__', '__error__'), fc.jsonValue());
const questions = fc.array(fc.record({ id: fc.string(), value: fc.jsonValue() }));
const question = fc.tuple(fc.constant('__interrupt__'), questions);
const writes = fc.record({
  task: fc.constantFrom('a', 'b', '\u{1F600}', '\uFFEE'),
  path: fc.constantFrom('', '~__pregel_pull, a', '~__pregel_push, b'),
  // Of two writes to one special channel in one call LangGraph keeps that whose value is serialized last, whichever that is.
  writes: fc.uniqueArray(fc.oneof(value, question), { maxLength: 4, selector: ([name]) => specialOr(name, {}) }),
});
const checkpoints = fc.record({
  namespace: fc.constantFrom('', 'sub'),
  items: fc.array(fc.jsonValue(), { maxLength: 3 }),
  tasks: fc.array(writes, { maxLength: 4 }),
});

const seen = (tuple: CheckpointTuple | undefined) =>
  tuple && {
    id: tuple.checkpoint.id,
    values: tuple.checkpoint.channel_values,
    metadata: tuple.metadata,
    writes: tuple.pendingWrites,
  };

test('the latest checkpoint and its writes are those that the checkpointer of LangGraph has, also after the state was stored', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(checkpoints, { minLength: 1, maxLength: 5 }), async (steps) => {
      const memory = new MemorySaver();
      let saver = await new StateSaver().load({});
      for (const [index, { namespace, items, tasks }] of steps.entries()) {
        const id = `0000-${index}`;
        const checkpoint = { ...emptyCheckpoint(), id, channel_values: { items, message: new AIMessage('Hi') } };
        for (const one of [memory, saver]) {
          await one.put(place(namespace), checkpoint, { source: 'loop', step: index, parents: {} });
          for (const { task, path, writes } of tasks) await one.putWrites(place(namespace, id), writes, task, path);
        }
        const stored = JSON.parse(JSON.stringify(await saver.keep())) as Awaited<ReturnType<StateSaver['keep']>>;
        saver = await new StateSaver().load(stored);
        for (const namespace of ['', 'sub'])
          t.deepEqual(seen(await saver.getTuple(place(namespace))), seen(await memory.getTuple(place(namespace))));
      }
    }),
    { numRuns: 100 },
  );
});

test('checkpoints are listed from the latest, and bytes are kept', async (t) => {
  const saver = await new StateSaver().load({});
  for (const id of ['1', '2', '3'])
    await saver.put(place(''), { ...emptyCheckpoint(), id }, { source: 'loop', step: 1, parents: {} });
  const ids = async (options: Parameters<StateSaver['list']>[1]): Promise<string[]> =>
    Array.fromAsync(saver.list(place(''), options), ({ checkpoint: { id } }) => id);
  t.deepEqual(
    [await ids({}), await ids({ limit: 1 }), await ids({ before: place('', '3') })],
    [['3', '2', '1'], ['3'], ['2', '1']],
  );
  await saver.putWrites(place('', '3'), [['file', new Uint8Array([1, 2, 255])]], 'task');
  const again = await new StateSaver().load(await saver.keep());
  const [[, , value] = []] = (await again.getTuple(place('')))?.pendingWrites ?? [];
  t.deepEqual(value, new Uint8Array([1, 2, 255]));
});
