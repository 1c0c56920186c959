import test from 'ava';
import type { Block, Message } from '@agent-workflow/protos/message';
import type { ModelUsage } from '@agent-workflow/protos/usage';
import { START } from '../build/names.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { interrupt } from './interrupt.ts';
import { defaultValues } from '../state/merge.ts';
import type { ToolCallRecord, ToolCallRecords } from './tool-call-records.ts';
import { runStep } from './step.ts';
import type { StepResult } from './super-step.ts';
import { tool, toolNode } from '../build/tool.ts';
import { nobody } from '../testing.ts';

const declaration = {
  description: 'Sends',
  parameters: { type: 'object', properties: { to: { type: 'string' } } },
} as const;

/** Records kept in memory, and the calls to them in their order. */
function keepRecords(): ToolCallRecords & {
  readonly kept: Map<string, ToolCallRecord | undefined>;
  readonly calls: string[];
} {
  const kept = new Map<string, ToolCallRecord | undefined>();
  const calls: string[] = [];
  return {
    kept,
    calls,
    started: async (key) => {
      calls.push(`started ${key}`);
      const record = kept.get(key);
      const isNew = !kept.has(key);
      kept.set(key, record);
      return Promise.resolve({ isNew, ...(record ? { record } : {}) });
    },
    ended: async (key, record) => {
      calls.push(`ended ${key}`);
      kept.set(key, record);
      return Promise.resolve();
    },
  };
}

const calling = (...calls: readonly (readonly [name: string, args: unknown])[]): Message => ({
  message_id: 'calling',
  role: 'assistant',
  content: calls.map(([name, args], index) => ({ type: 'tool_call', id: `c${String(index + 1)}`, name, args })),
  timestamp: '2026-01-01T00:00:00.000Z',
});

const graphOf = (...tools: Parameters<typeof toolNode>[0]): CompiledGraph =>
  new StateGraph({}).addNode('tools', toolNode(tools)).addEdge(START, 'tools').compile();

const stepOf = async (
  graph: CompiledGraph,
  context: Message,
  records?: ToolCallRecords,
  onUsage?: (usage: ModelUsage) => void,
): Promise<StepResult> =>
  runStep({
    graph,
    nodes: ['tools'],
    number: 2,
    state: { values: defaultValues(graph.fields), context: [context] },
    run: nobody,
    toolCallRecords: records,
    at: 0,
    now: Date.now,
    onUsage,
    isRemote: () => false,
    onChunk: () => undefined,
  });

const answersOf = ({ delta }: StepResult): Block[] => delta.messages.flatMap(({ content }) => content);

test('an at-most-once call is recorded before it and after it, under the key that the tool gets', async (t) => {
  const records = keepRecords();
  const seen: string[] = [];
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, ({ to }, ctx) => {
    seen.push(ctx.idempotencyKey);
    t.true(records.kept.has(ctx.idempotencyKey));
    return { sent: to };
  });
  const result = await stepOf(graphOf(send), calling(['send', { to: 'Ada' }]), records);
  t.like(answersOf(result)[0], { call_id: 'c1', output: { sent: 'Ada' }, is_error: false });
  t.deepEqual(seen, ['run/2/c1']);
  t.deepEqual(records.calls, ['started run/2/c1', 'ended run/2/c1']);
  t.deepEqual(records.kept.get('run/2/c1'), { output: { sent: 'Ada' }, isError: false });
});

test('a recorded result, also an error, is the result of the call, which is not made', async (t) => {
  const records = keepRecords();
  records.kept.set('run/2/c1', { output: { sent: 'before' }, isError: false });
  records.kept.set('run/2/c2', { output: 'no such person', isError: true });
  let made = 0;
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => made++);
  const result = await stepOf(graphOf(send), calling(['send', {}], ['send', {}], ['send', {}]), records);
  t.like(answersOf(result), {
    0: { output: { sent: 'before' }, is_error: false },
    1: { output: 'no such person', is_error: true },
    2: { output: 0, is_error: false },
  });
  t.is(made, 1);
});

test('a call that began and has no recorded result is answered with an error, and never made again', async (t) => {
  const records = keepRecords();
  records.kept.set('run/2/c1', undefined);
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => t.fail('it was made again'));
  for (let attempt = 0; attempt < 3; attempt++) {
    const [answer] = answersOf(await stepOf(graphOf(send), calling(['send', {}]), records));
    t.like(answer, { call_id: 'c1', is_error: true, status: 'error' });
    t.regex(String(answer?.['output']), /^Outcome unknown/);
  }
});

test('what a tool throws is a result like any other', async (t) => {
  const records = keepRecords();
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => {
    throw new Error('the post is closed');
  });
  const graph = graphOf(send);
  const first = answersOf(await stepOf(graph, calling(['send', {}]), records));
  const second = answersOf(await stepOf(graph, calling(['send', {}]), records));
  t.like(first[0], { output: 'the post is closed', is_error: true });
  t.deepEqual(second, first);
});

test('calls of other or unknown tools, and calls with invalid arguments, are not recorded', async (t) => {
  const records = keepRecords();
  let made = 0;
  const safe = tool({ name: 'safe', ...declaration, replay: 'safe' }, () => made++);
  const plain = tool({ name: 'plain', ...declaration }, () => made++);
  const recorded = tool({ name: 'recorded', ...declaration, replay: 'once' }, () => made++);
  const calls = calling(['safe', {}], ['plain', {}], ['nothing', {}], ['recorded', { to: 5 }]);
  await stepOf(graphOf(safe, plain, recorded), calls, records);
  t.is(made, 2);
  t.deepEqual(records.calls, []);
});

test('a call that cannot be recorded is not made, and fails its node', async (t) => {
  const records = { ...keepRecords(), started: async () => Promise.reject(new Error('the record is unavailable')) };
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => t.fail('it was made'));
  await t.throwsAsync(stepOf(graphOf(send), calling(['send', {}]), records), { message: /the record is unavailable/ });
});

test('a tool that asks is called again with the answer, even when it caught the question', async (t) => {
  const records = keepRecords();
  let begun = 0;
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => {
    begun++;
    try {
      return { sure: interrupt('Sure?') };
    } catch (error) {
      if (begun === 2) return 'swallowed';
      throw error;
    }
  });
  const graph = graphOf(send);
  for (let attempt = 1; attempt <= 3; attempt++) {
    const { waiting, interrupts, delta } = await stepOf(graph, calling(['send', {}]), records);
    t.true(waiting);
    t.deepEqual(
      interrupts.map(({ value }) => value),
      ['Sure?'],
    );
    t.deepEqual(delta.messages, []);
  }
  t.is(begun, 3);
});

test('without records a call may be made again', async (t) => {
  let made = 0;
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => made++);
  const graph = graphOf(send);
  await stepOf(graph, calling(['send', {}]));
  t.like(answersOf(await stepOf(graph, calling(['send', {}])))[0], { output: 1 });
});

test('a recorded call reports the tokens that it reported when it was made', async (t) => {
  const records = keepRecords();
  let made = 0;
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, (_, { usage }) => {
    made++;
    usage({ model: 'm', inputTokens: 2, outputTokens: 1 });
    usage({ model: 'm', inputTokens: 1, outputTokens: 0 });
  });
  const graph = graphOf(send);
  const first: ModelUsage[] = [];
  await stepOf(graph, calling(['send', {}]), records, (usage) => first.push(usage));
  const again: ModelUsage[] = [];
  await stepOf(graph, calling(['send', {}]), records, (usage) => again.push(usage));
  t.is(made, 1);
  t.deepEqual(
    first.map(({ inputTokens }) => inputTokens),
    [2, 1],
  );
  t.deepEqual(again, [{ model: 'm', inputTokens: 3, outputTokens: 1 }]);
});
