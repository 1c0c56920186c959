import { ResumingAgent } from '@agent-workflow/client/ag-ui';
import { ClientFactory } from '@a2a-js/sdk/client';
import { Client as LangGraph } from '@langchain/langgraph-sdk';
import { Client as Mcp, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { byLoad } from '../../by-load.ts';
import { serve } from '../../http/service.ts';
import { openGate } from '../../servers/gate.ts';
import { testedAgent } from '../../servers/standalone.ts';
import { saying } from '../a2a/service.ts';
import { taskCaller } from './task-caller.ts';

const service = serve(test, 'gated');

/** A node ends at most so long after the stop, in milliseconds. */
const mostMs = 1000;

/** Starts a run whose node waits at an address, stops it, and holds how long the node goes on. `begin` gives the stop. */
async function endsAtOnce(
  t: ExecutionContext,
  begin: (gate: string) => Promise<() => unknown> | (() => unknown),
): Promise<void> {
  t.timeout(byLoad(60_000));
  await using gate = await openGate();
  const stop = await begin(gate.url);
  await gate.visited(1);
  const start = performance.now();
  const stopped = stop();
  await gate.left(1);
  const ms = Math.round(performance.now() - start);
  t.log(`${String(ms)} ms`);
  t.true(ms < byLoad(mostMs), `the node ended after ${String(ms)} ms`);
  await stopped;
}

const openai = (): OpenAI => new OpenAI({ baseURL: `${service.url()}/openai/v1`, apiKey: 'none', maxRetries: 0 });

test.serial('the node of a completion of OpenAI ends when its caller leaves', async (t) => {
  await endsAtOnce(t, (gate) => {
    const controller = new AbortController();
    const messages = [{ role: 'user' as const, content: gate }];
    const asked = openai().chat.completions.create({ model: testedAgent, messages }, { signal: controller.signal });
    const left = asked.catch(() => undefined);
    return () => {
      controller.abort();
      return left;
    };
  });
});

test.serial('the node of a response of OpenAI ends when that is cancelled', async (t) => {
  await endsAtOnce(t, async (gate) => {
    const { id } = await openai().responses.create({ model: testedAgent, input: gate, background: true });
    return () => openai().responses.cancel(id);
  });
});

for (const [era, options] of Object.entries({
  'with a handshake': {},
  'without a handshake': { versionNegotiation: { mode: 'auto' as const } },
}))
  test.serial(`the node of a call of MCP ends when its client cancels it: ${era}`, async (t) => {
    const client = new Mcp({ name: 'test', version: '1' }, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url()}/mcp`)));
    await endsAtOnce(t, (gate) => {
      const controller = new AbortController();
      const call = { name: testedAgent, arguments: { message: gate } };
      const cancelled = client.callTool(call, { signal: controller.signal }).catch(() => undefined);
      return () => {
        controller.abort();
        return cancelled;
      };
    });
    await client.close();
  });

test.serial('the node of a task of MCP ends when that is cancelled', async (t) => {
  const call = taskCaller(service.url());
  await endsAtOnce(t, async (gate) => {
    const { taskId } = await call('tools/call', { name: testedAgent, arguments: { message: gate } });
    return () => call('tasks/cancel', { taskId });
  });
});

test.serial('the node of a task of A2A ends when that is cancelled', async (t) => {
  const client = await new ClientFactory().createFromUrl(`${service.url()}/a2a/${testedAgent}/`);
  await endsAtOnce(t, async (gate) => {
    const stream = client.sendMessageStream(saying(gate))[Symbol.asyncIterator]();
    const first = (await stream.next()).value as { payload?: { $case: string; value: { id: string } } };
    return () => client.cancelTask({ tenant: '', id: first.payload?.value.id ?? '', metadata: undefined });
  });
});

test.serial('the node of a run of AG-UI ends when its page aborts it, and not when it leaves', async (t) => {
  const url = `${service.url()}/agui/${testedAgent}`;
  await endsAtOnce(t, async (gate) => {
    const left = new ResumingAgent({ url, threadId: crypto.randomUUID() });
    const { threadId } = left;
    left.addMessage({ id: crypto.randomUUID(), role: 'user', content: gate });
    const started = Promise.withResolvers<undefined>();
    void left.runAgent({}, { onRunStartedEvent: () => started.resolve(undefined) });
    await started.promise;
    await left.detachActiveRun();
    const page = new ResumingAgent({ url, threadId });
    const seen = Promise.withResolvers<undefined>();
    const aborted = page.connectAgent({}, { onRunStartedEvent: () => seen.resolve(undefined) }).catch(() => undefined);
    await seen.promise;
    return () => {
      page.abortRun();
      return aborted;
    };
  });
});

test.serial("the node of a run of LangGraph's client ends when that is cancelled", async (t) => {
  const { threads, runs } = new LangGraph({ apiUrl: `${service.url()}/langgraph`, apiKey: null });
  await endsAtOnce(t, async (gate) => {
    const { thread_id: threadId } = await threads.create();
    const input = { messages: [{ role: 'user', content: gate }] };
    const { run_id: runId } = await runs.create(threadId, testedAgent, { input });
    return () => runs.cancel(threadId, runId);
  });
});
