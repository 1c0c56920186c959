import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import test from 'ava';
import { serve } from '../../http/service.ts';
import { testedAgent } from '../../servers/standalone.ts';

const service = serve(test, 'typing', { DIALECTS: 'mcp' });

/** The two ways in which a client of the protocol begins. */
const eras = { 'with a handshake': {}, 'without a handshake': { versionNegotiation: { mode: 'auto' as const } } };

interface Connected extends AsyncDisposable {
  readonly client: Client;
}

async function connect(options: object, capabilities: object = {}): Promise<Connected> {
  const client = new Client({ name: 'test', version: '1' }, { ...options, capabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url()}/mcp`)));
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

for (const [era, options] of Object.entries(eras)) {
  test(`${era}: an agent is a tool, and a call of it is a run`, async (t) => {
    await using connected = await connect(options);
    const { client } = connected;
    const { tools } = await client.listTools();
    t.true(tools.some(({ name }) => name === testedAgent));
    const steps: unknown[] = [];
    const onprogress = (step: unknown): void => void steps.push(step);
    const call = { name: testedAgent, arguments: { message: 'hello' } };
    const result = await client.callTool(call, { onprogress });
    t.deepEqual(result.content, [{ type: 'text', text: answer }]);
    t.like(result.structuredContent, { text: answer, state: { turns: 1 } });
    t.deepEqual(steps, [
      { progress: 1, message: 'write' },
      { progress: 2, message: 'confirm' },
    ]);
    const { thread_id: threadId } = result.structuredContent as { readonly thread_id: string };
    const next = await client.callTool({ name: testedAgent, arguments: { message: 'again', thread_id: threadId } });
    t.like(next.structuredContent, { thread_id: threadId, state: { turns: 2 } });
  });

  test(`${era}: a question of the agent goes to the client, and its answer goes on`, async (t) => {
    await using connected = await connect(options, { elicitation: { form: {} } });
    const { client } = connected;
    client.setRequestHandler('elicitation/create', ({ params }) => {
      t.is(params.message, 'sure?');
      return { action: 'accept' as const, content: { answer: 'yes' } };
    });
    const result = await client.callTool({ name: testedAgent, arguments: { message: 'are you sure' } });
    t.deepEqual(result.content, [{ type: 'text', text: 'you said yes' }]);
  });
}
