import test, { type ExecutionContext } from 'ava';
import { user } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { codeOf, replyText, serve } from './service.ts';

const obedient = serve(test);
const gated = serve(test, 'gated');
const few = serve(test, 'obedient', { CHECKPOINT_KEEP: '2' });

interface Step {
  readonly step: number;
  readonly checkpoint_id: string;
  readonly nodes: readonly string[];
  readonly next: readonly string[];
  readonly changed: Readonly<Record<string, unknown>>;
  readonly messages: readonly Parameters<typeof replyText>[0][];
  readonly removed: readonly string[];
  readonly attempt: number | null;
}

interface Steps {
  readonly run_id: string;
  readonly thread_id: string;
  readonly steps: readonly Step[];
  readonly has_more: boolean;
}

interface PastStep {
  readonly step: Step;
  readonly state: Readonly<Record<string, unknown>>;
}

type Service = typeof obedient;

const stepsOf = async (t: ExecutionContext, { data, send }: Service, runId: string, query = ''): Promise<Steps> =>
  await data(t, 'listRunSteps', send('GET', `/v1/runs/${runId}/steps${query}`));

const stepOf = async (t: ExecutionContext, { data, send }: Service, runId: string, step: number): Promise<PastStep> =>
  await data(t, 'getRunStep', send('GET', `/v1/runs/${runId}/steps/${String(step)}`));

const invoked = async ({ send }: Service, thread: string, body: object): Promise<string> => {
  const reply = await send('POST', '/v1/graph/invoke', { ...body, config: { thread_id: thread } });
  return (reply.body.data as { meta: { run_id: string } }).meta.run_id;
};

test('the steps of a run say what each changed, whatever its granularity, and what the state was after it', async (t) => {
  const body = { messages: [user('rounds 3')], response_granularity: 'low' };
  const runId = await invoked(obedient, 'stepped', body);
  await invoked(obedient, 'stepped', { messages: [user('rounds 2')] });
  const { steps, has_more: hasMore, ...ids } = await stepsOf(t, obedient, runId);
  t.deepEqual(ids, { run_id: runId, thread_id: 'stepped' });
  t.deepEqual(
    steps.map(({ step, nodes, changed, attempt }) => [step, nodes, changed['rounds'], attempt]),
    [0, 1, 2].map((step) => [step, ['obey'], step + 1, 1]),
  );
  t.false(hasMore);
  for (const each of steps) {
    const { step, state } = await stepOf(t, obedient, runId, each.step);
    t.deepEqual(step, each);
    t.is(state['rounds'], each.step + 1, 'what later runs wrote does not show');
  }
  const { body: reply } = await obedient.send(
    'GET',
    `/v1/threads/stepped/checkpoints/${steps[1]?.checkpoint_id ?? ''}`,
  );
  const { state } = await stepOf(t, obedient, runId, 1);
  t.deepEqual((reply.data as PastStep).state, state);
});

test('steps are read in parts, and messages stand with the step that put them', async (t) => {
  const runId = await invoked(obedient, 'parts', { messages: [user('rounds 4')] });
  const { steps } = await stepsOf(t, obedient, runId);
  const first = await stepsOf(t, obedient, runId, '?limit=2');
  t.deepEqual([first.steps, first.has_more], [steps.slice(0, 2), true]);
  const second = await stepsOf(t, obedient, runId, '?limit=2&after=1');
  t.deepEqual([second.steps, second.has_more], [steps.slice(2), false]);
  t.deepEqual((await stepsOf(t, obedient, runId, '?after=3')).steps, []);
  t.deepEqual((await stepsOf(t, obedient, runId, '?limit=1000')).steps, steps);
  t.deepEqual((await stepsOf(t, obedient, runId, `?after=${String(Number.MAX_SAFE_INTEGER - 1)}`)).steps, []);
  const greeting = await invoked(obedient, 'parts', { messages: [user('hello')] });
  const [only] = (await stepsOf(t, obedient, greeting)).steps;
  t.deepEqual(only?.messages.map(replyText), ['you said hello']);
});

test('a run that goes on shows the steps that it has committed, and none that is under way', async (t) => {
  await using gate = await openGate();
  const started = await gated.send('POST', '/v1/runs', { messages: [user('go')], config: { gate: gate.url } });
  const { run_id: runId } = started.body.data as { run_id: string };
  await gate.visited(1);
  const before = await stepsOf(t, gated, runId);
  gate.open();
  await gated.send('GET', `/v1/runs/${runId}/wait`);
  const after = await stepsOf(t, gated, runId);
  t.deepEqual(after.steps.slice(0, before.steps.length), before.steps);
  t.true(after.steps.length > before.steps.length);
  t.false(after.has_more);
});

test('what is no longer kept is left out of the list, and 404 by its number', async (t) => {
  const runId = await invoked(few, 'few', { messages: [user('rounds 5')] });
  // A store may keep up to 15 more than it must.
  for (const index of Array(18).keys())
    await few.send('POST', '/v1/threads/few/messages', { messages: [user(String(index))] });
  t.deepEqual((await stepsOf(t, few, runId)).steps, []);
  await few.refused(t, few.send('GET', `/v1/runs/${runId}/steps/0`), 404, codeOf(404));
});

test('a step that a run does not have is 404, and so are those of a run that is not there', async (t) => {
  const runId = await invoked(obedient, 'no-step', { messages: [user('hello')] });
  for (const path of [
    `${runId}/steps/1`,
    `${runId}/steps/x`,
    `${runId}/steps/-1`,
    `${runId}/steps/1e1`,
    'none/steps',
    'none/steps/0',
  ])
    await obedient.refused(t, obedient.send('GET', `/v1/runs/${path}`), 404, codeOf(404));
  const after = obedient.send('GET', `/v1/runs/${runId}/steps?after=-1`);
  t.deepEqual(await obedient.refused(t, after, 422, codeOf(422)), [['query', 'after']]);
});
