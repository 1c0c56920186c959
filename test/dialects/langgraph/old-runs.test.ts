import test from 'ava';
import { until } from '../../until.ts';
import { graphId, serveLangGraph } from './service.ts';

/** Two versions of a thread are kept. */
const service = serveLangGraph(test, { CHECKPOINT_KEEP: '2' });

const sending = (text: string) => ({ input: { messages: [{ role: 'user', content: text }] } });

test('a run whose checkpoints are kept no longer is joined with the values that it left', async (t) => {
  const { runs, threads } = service.client();
  const { thread_id: id } = await threads.create({ graphId });
  const [first] = [await runs.create(id, graphId, sending('first')), await runs.wait(id, graphId, sending('second'))];
  for (let turn = 0; turn < 8; turn += 1) await runs.wait(id, graphId, sending(`turn ${String(turn)}`));
  const isKept = async (): Promise<boolean> =>
    (await threads.getHistory(id, { limit: 100 })).some(({ metadata }) => metadata?.['run_id'] === first.run_id);
  await until(async () => !(await isKept()));
  const { messages, count } = (await runs.join(id, first.run_id)) as unknown as {
    readonly messages: readonly { readonly content: unknown }[];
    readonly count: number;
  };
  t.deepEqual(
    messages.map(({ content }) => content),
    ['first', 'pale blue sky over hills'],
  );
  t.is(count, 1);
});
