import test, { type ExecutionContext } from 'ava';
import { callsTools, END, START, StateGraph, tool, toolNode, type CompiledGraph } from '@agent-workflow/graph';
import { unavailable } from '@agent-workflow/kit/errors';
import { call, endOf, logOf, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
import { gates, passGate } from './execution/gates.ts';
import { user } from './execution/messages.ts';
import { openReplicas, withoutTaking, type Ground } from './replicas.ts';

/** Calls `send` once, which waits at the gate that the user names, and says what came of it. `calls` hears of each call. */
function sending(replay: 'safe' | 'once', calls: string[]): CompiledGraph {
  const send = tool(
    { name: 'send', description: 'Sends', parameters: { type: 'object', properties: {} }, replay },
    async (_args, ctx) => {
      calls.push(ctx.idempotencyKey);
      await passGate(
        [
          {
            message_id: '',
            role: 'user',
            content: [{ type: 'text', text: String(ctx.config['gate']) }],
            timestamp: '',
          },
        ],
        {
          ...ctx,
          node: 'tools',
          step: 1,
          messageId: '',
          emit: () => undefined,
          openMessage: () => ({ messageId: '', emit: () => undefined }),
        },
      );
      return `sent ${String(calls.length)}`;
    },
  );
  return new StateGraph({})
    .addNode('agent', (state, ctx) => {
      const last = state.context.at(-1)?.content[0];
      if (last?.type === 'tool_result')
        ctx.emit(`${last['is_error'] === true ? 'failed' : 'done'}: ${String(last['output'])}`);
      else ctx.emit({ type: 'tool_call', id: 'c1', name: 'send', args: {} });
    })
    .addNode('tools', toolNode([send]))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
    .addEdge('tools', 'agent')
    .compile();
}

const textsOf = async (threads: Ground['threads'], threadId: string): Promise<string[]> =>
  (await logOf(threads, threadId)).flatMap(({ content }) => content.map(({ type, text = type }) => text as string));

async function dieInTool(t: ExecutionContext, replay: 'safe' | 'once'): Promise<{ texts: string[]; calls: string[] }> {
  await using replicas = await openReplicas();
  const calls: string[] = [];
  const graph = sending(replay, calls);
  const gate = gates.next();
  const configJson = Buffer.from(JSON.stringify({ gate: gate.name }));
  const dying = await replicas.open({ graph, through: withoutTaking });
  const { runId } = await start(dying.execution, { threadId: 't1', configJson, messages: [user('go')] });
  await gate.entered;
  dying.kill();
  gate.open();
  const other = await replicas.open({ graph });
  t.is(resultOf(await endOf(other.execution, runId)).meta.status, 'completed');
  t.true(
    calls.every((key) => key === `${runId}/1/c1`),
    calls.join(),
  );
  return { texts: await textsOf(replicas.threads, 't1'), calls };
}

test('a worker dies during an at-most-once tool call: it is not made again, and the model gets an error', async (t) => {
  const { texts, calls } = await dieInTool(t, 'once');
  t.is(calls.length, 1);
  t.deepEqual(texts.slice(0, 3), ['go', 'tool_call', 'tool_result']);
  t.regex(texts[3] ?? '', /^failed: Outcome unknown/);
});

test('a worker dies during a call that is safe to repeat: it is made again, with the same key', async (t) => {
  const { texts, calls } = await dieInTool(t, 'safe');
  t.is(calls.length, 2);
  t.deepEqual(texts, ['go', 'tool_call', 'tool_result', 'done: sent 2']);
});

test('a worker dies between the result of an at-most-once call and its commit: the next worker uses the result', async (t) => {
  await using replicas = await openReplicas();
  const calls: string[] = [];
  const graph = sending('once', calls);
  const noted = Promise.withResolvers<undefined>();
  const dying = await replicas.open({
    graph,
    through: (ground) => ({
      ...withoutTaking(ground),
      threads: {
        ...ground.threads,
        noteToolResult: async (request, at) => {
          const reply = await ground.threads.noteToolResult(request, at);
          noted.resolve(undefined);
          return reply;
        },
        commitStep: async (request, at) =>
          request.step === 1 ? new Promise(() => undefined) : ground.threads.commitStep(request, at),
      },
    }),
  });
  const { runId } = await start(dying.execution, { threadId: 't1', messages: [user('go')] });
  await noted.promise;
  dying.kill();
  const other = await replicas.open({ graph });
  t.is(resultOf(await endOf(other.execution, runId)).meta.status, 'completed');
  t.is(calls.length, 1);
  t.is((await textsOf(replicas.threads, 't1')).at(-1), 'done: sent 1');
});

test('while the record cannot store an at-most-once call it is not made, and the run continues when it can', async (t) => {
  await using replicas = await openReplicas();
  const calls: string[] = [];
  const graph = sending('once', calls);
  let refusals = 0;
  const { execution } = await replicas.open({
    graph,
    sweepMs: 20,
    through: ({ threads }) => ({
      threads: {
        ...threads,
        noteToolStarted: async (request, at) => {
          if (refusals++ === 0) throw unavailable('the record is unavailable');
          return threads.noteToolStarted(request, at);
        },
      },
    }),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.is(calls.length, 1);
  t.is((await textsOf(replicas.threads, 't1')).at(-1), 'done: sent 1');
  t.is((await replicas.threads.getRun({ owner, runId }, call())).status, 'completed');
});
