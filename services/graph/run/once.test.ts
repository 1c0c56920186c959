import test from 'ava';
import type { Block, Message } from '@agent-workflow/protos/message';
import { START } from '../build/names.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { interrupt } from './interrupt.ts';
import { defaultValues } from '../state/merge.ts';
import type { CallNote, CallNotes } from './once.ts';
import { runStep } from './step.ts';
import type { StepResult } from './super-step.ts';
import { tool, toolNode } from '../build/tool.ts';
import { nobody } from '../testing.ts';

const declaration = {
  description: 'Sends',
  parameters: { type: 'object', properties: { to: { type: 'string' } } },
} as const;

/** Notes kept in memory, and what was asked of them. */
function keepNotes(): CallNotes & { readonly kept: Map<string, CallNote | undefined>; readonly asked: string[] } {
  const kept = new Map<string, CallNote | undefined>();
  const asked: string[] = [];
  return {
    kept,
    asked,
    started: async (key) => {
      asked.push(`started ${key}`);
      const note = kept.get(key);
      const isNew = !kept.has(key);
      kept.set(key, note);
      return Promise.resolve({ isNew, ...(note ? { note } : {}) });
    },
    ended: async (key, note) => {
      asked.push(`ended ${key}`);
      kept.set(key, note);
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

const stepOf = async (graph: CompiledGraph, context: Message, notes?: CallNotes): Promise<StepResult> =>
  runStep({
    graph,
    nodes: ['tools'],
    number: 2,
    state: { values: defaultValues(graph.fields), context: [context] },
    run: nobody,
    notes,
    isRemote: () => false,
    onPiece: () => undefined,
  });

const answersOf = ({ delta }: StepResult): Block[] => delta.messages.flatMap(({ content }) => content);

test('a call that may be made once is noted before it and behind it, under the key that the tool is given', async (t) => {
  const notes = keepNotes();
  const seen: string[] = [];
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, ({ to }, ctx) => {
    seen.push(ctx.idempotencyKey);
    t.true(notes.kept.has(ctx.idempotencyKey));
    return { sent: to };
  });
  const result = await stepOf(graphOf(send), calling(['send', { to: 'Ada' }]), notes);
  t.like(answersOf(result)[0], { call_id: 'c1', output: { sent: 'Ada' }, is_error: false });
  t.deepEqual(seen, ['run/2/c1']);
  t.deepEqual(notes.asked, ['started run/2/c1', 'ended run/2/c1']);
  t.deepEqual(notes.kept.get('run/2/c1'), { output: { sent: 'Ada' }, isError: false });
});

test('a result that is known is taken as it is, also when it is an error, and the call is not made', async (t) => {
  const notes = keepNotes();
  notes.kept.set('run/2/c1', { output: { sent: 'before' }, isError: false });
  notes.kept.set('run/2/c2', { output: 'no such person', isError: true });
  let made = 0;
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => made++);
  const result = await stepOf(graphOf(send), calling(['send', {}], ['send', {}], ['send', {}]), notes);
  t.like(answersOf(result), {
    0: { output: { sent: 'before' }, is_error: false },
    1: { output: 'no such person', is_error: true },
    2: { output: 0, is_error: false },
  });
  t.is(made, 1);
});

test('a call that was begun and whose result nobody knows is answered as an error, and never made again', async (t) => {
  const notes = keepNotes();
  notes.kept.set('run/2/c1', undefined);
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => t.fail('it was made again'));
  for (let attempt = 0; attempt < 3; attempt++) {
    const [answer] = answersOf(await stepOf(graphOf(send), calling(['send', {}]), notes));
    t.like(answer, { call_id: 'c1', is_error: true, status: 'error' });
    t.regex(String(answer?.['output']), /^Outcome unknown/);
  }
});

test('what a tool throws is a result like any other', async (t) => {
  const notes = keepNotes();
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => {
    throw new Error('the post is closed');
  });
  const graph = graphOf(send);
  const first = answersOf(await stepOf(graph, calling(['send', {}]), notes));
  const second = answersOf(await stepOf(graph, calling(['send', {}]), notes));
  t.like(first[0], { output: 'the post is closed', is_error: true });
  t.deepEqual(second, first);
});

test('calls of other tools, of unknown ones, and with arguments that do not hold, are not noted', async (t) => {
  const notes = keepNotes();
  let made = 0;
  const safe = tool({ name: 'safe', ...declaration, replay: 'safe' }, () => made++);
  const plain = tool({ name: 'plain', ...declaration }, () => made++);
  const once = tool({ name: 'once', ...declaration, replay: 'once' }, () => made++);
  const calls = calling(['safe', {}], ['plain', {}], ['nothing', {}], ['once', { to: 5 }]);
  await stepOf(graphOf(safe, plain, once), calls, notes);
  t.is(made, 2);
  t.deepEqual(notes.asked, []);
});

test('a call that cannot be noted is not made, and fails its node', async (t) => {
  const notes = { ...keepNotes(), started: async () => Promise.reject(new Error('the record is away')) };
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => t.fail('it was made'));
  await t.throwsAsync(stepOf(graphOf(send), calling(['send', {}]), notes), { message: /the record is away/ });
});

test('a tool that asks is called again with the answer, whatever it did with the question', async (t) => {
  const notes = keepNotes();
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
    const { waiting, interrupts, delta } = await stepOf(graph, calling(['send', {}]), notes);
    t.true(waiting);
    t.deepEqual(
      interrupts.map(({ value }) => value),
      ['Sure?'],
    );
    t.deepEqual(delta.messages, []);
  }
  t.is(begun, 3);
});

test('without notes a call may be made again', async (t) => {
  let made = 0;
  const send = tool({ name: 'send', ...declaration, replay: 'once' }, () => made++);
  const graph = graphOf(send);
  await stepOf(graph, calling(['send', {}]));
  t.like(answersOf(await stepOf(graph, calling(['send', {}])))[0], { output: 1 });
});
