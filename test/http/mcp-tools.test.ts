import test from 'ava';
import { tools } from '../agents/mcp-calling.ts';
import { user } from '../servers/client.ts';
import { replyText, serve } from './service.ts';

const service = serve(test, 'mcp-calling');
test.after.always(tools.close);

interface Result {
  readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly meta: {
    readonly status: string;
    readonly interrupts?: readonly { readonly id: string; readonly value: unknown }[];
  };
}

const invoke = async (threadId: string, body: object): Promise<Result> => {
  const reply = await service.send('POST', '/v1/graph/invoke', { ...body, config: { thread_id: threadId } });
  return reply.body.data;
};

test('a run calls the tools of an MCP server, and its tools are in the graph', async (t) => {
  const { messages, meta } = await invoke('notes', { messages: [user('notes_write')] });
  t.is(meta.status, 'completed');
  t.deepEqual(messages.map(replyText).slice(-1), ['"written"']);
});

test('a question of an MCP server interrupts the run, and an answer in a later request goes back to it', async (t) => {
  const first = await invoke('booking', { messages: [user('book')] });
  t.is(first.meta.status, 'interrupted');
  t.like(first.meta.interrupts?.[0]?.value, { type: 'elicitation', tool: 'book', message: 'Where?' });
  const porto = { action: 'accept', content: { city: 'Porto' } };
  const second = await invoke('booking', { messages: [], resume: { [String(first.meta.interrupts?.[0]?.id)]: porto } });
  t.like(second.meta.interrupts?.[0]?.value, { message: 'How long?' });
  const third = await invoke('booking', { messages: [], resume: { action: 'accept', content: { nights: 3 } } });
  t.is(third.meta.status, 'completed');
  t.deepEqual(third.messages.map(replyText).slice(-1), ['"Porto for 3 nights"']);
});
