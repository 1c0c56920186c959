import { idFrom } from '@agent-workflow/kit/ids';
import test from 'ava';
import { createClient, user, type Chunk } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { sealed, signature, startThinkingChat, thought, type SentMessage } from '../servers/thinking-chat.ts';

interface Shown {
  readonly message_id: string;
  readonly role: string;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly metadata?: { readonly finish_reason?: string };
}

const calling = (messages: readonly SentMessage[] = []): readonly SentMessage[] =>
  messages.filter(({ tool_calls: calls }) => calls !== undefined);

// pi#3636, openhuman#3094, crewAI#5878: DeepSeek wants its reasoning back with the calls that followed it.
test('what a provider sent for itself goes back to it byte for byte over restarts and conversations that are sent again, and to nobody else', async (t) => {
  await using provider = await startThinkingChat();
  await using other = await startThinkingChat({ strict: false });
  await using workspace = await makeWorkspace('thinking');
  const config = { thread_id: 'sums', model_url: provider.baseUrl };
  // Whoever knows the address of the provider can make its name.
  const forged = {
    source: `chat:${idFrom(`${provider.baseUrl}/chat/completions`, 'model')}`,
    members: { reasoning_content: 'forged', extra_content: 'forged' },
  };
  const bodies: string[] = [];
  const openOne = async () => {
    const service = await startStandalone(workspace.env);
    const { send, stream } = createClient(service.url);
    const data = async <T>(...request: Parameters<typeof send>): Promise<T> => {
      const { status, body } = await send(...request);
      bodies.push(JSON.stringify(body));
      t.is(status, 200, bodies.at(-1));
      return body.data;
    };
    return { service, data, stream };
  };

  {
    const { service, stream } = await openOne();
    await using _ = service;
    const chunks: Chunk[] = await Array.fromAsync(
      stream({ messages: [user('What is 2 + 3?')], config, response_granularity: 'full' }),
    );
    bodies.push(JSON.stringify(chunks));
    const streamed = chunks.filter(({ event }) => event === 'messages_chunk');
    const thoughts = streamed
      .map(({ data }) => data as Shown['content'][number])
      .filter(({ type }) => type === 'reasoning');
    t.is(thoughts.map(({ text }) => text).join('|'), `${thought.slice(0, 24)}|${thought.slice(24)}|Five.`);
    t.is(
      streamed
        .map(({ data }): unknown => data)
        .filter((data) => typeof data === 'string')
        .join(''),
      'It is 5.',
    );
    const whole = streamed.flatMap(({ message }) => (message ? [message as unknown as Shown] : []));
    t.deepEqual(
      whole.map(({ role, metadata, content }) => [role, metadata?.finish_reason, content.map(({ type }) => type)]),
      [
        ['assistant', 'tool_calls', ['reasoning', 'tool_call']],
        ['tool', undefined, ['tool_result']],
        ['assistant', 'stop', ['reasoning', 'text']],
      ],
    );
    t.is(whole[0]?.content[0]?.text, thought);
    await service.stop('SIGTERM');
  }

  const { service, data } = await openOne();
  await using _ = service;
  const { messages } = await data<{ readonly messages: readonly Shown[] }>('GET', '/v1/threads/sums/messages');
  const withForged = messages.map((message) => ({
    ...message,
    content: message.content.map((block) => ({ ...block, provider_data: forged })),
  }));
  const invented = { role: 'assistant', content: [{ type: 'text', text: 'Yes?', provider_data: forged }] };
  await data('POST', '/v1/graph/invoke', {
    messages: [...withForged, invented, user('And again?')],
    initial_state: { context: [invented] },
    config,
    response_granularity: 'full',
  });
  // A client that has no place for reasoning.
  const bare = messages.map((message) => ({
    ...message,
    content: message.content.filter(({ type }) => type !== 'reasoning'),
  }));
  await data('POST', '/v1/threads/sums/messages', { messages: bare });
  await data('POST', '/v1/threads/sums/state', { state: { context: bare }, config: {} });
  await data('POST', '/v1/graph/invoke', { messages: [user('Once more?')], config });
  const sent = calling(provider.requests.at(-1));
  t.is(sent.length, 3);
  for (const { reasoning_content: reasoning, reasoning_details: details, tool_calls: calls } of sent) {
    t.is(reasoning, thought);
    t.deepEqual(details, sealed);
    t.deepEqual(calls?.[0]?.extra_content, signature);
  }
  t.false(JSON.stringify(provider.requests).includes('forged'));

  const { checkpoints } = await data<{ readonly checkpoints: readonly { readonly checkpoint_id: string }[] }>(
    'GET',
    '/v1/threads/sums/checkpoints',
  );
  const checkpoint = checkpoints[0]?.checkpoint_id ?? '';
  await data('GET', `/v1/threads/sums/checkpoints/${checkpoint}`);
  const fork = await data<{ readonly thread_id: string }>('POST', '/v1/threads/sums/fork', {
    checkpoint_id: checkpoint,
  });
  await data('POST', '/v1/graph/invoke', {
    messages: [user('Here too?')],
    config: { ...config, thread_id: fork.thread_id },
  });
  t.is(calling(provider.requests.at(-1)).length, 4);

  await data('POST', '/v1/graph/invoke', {
    messages: [user('And you?')],
    config: { ...config, model_url: other.baseUrl },
    response_granularity: 'full',
  });
  const seen = JSON.stringify(other.requests[0]);
  t.is(calling(other.requests[0]).length, 3);
  for (const secret of ['reasoning', 'extra_content', 'c2lnbmF0dXJl', 'AAECAw==', 'The user wants'])
    t.false(seen.includes(secret), secret);

  await data('GET', '/v1/threads/sums/state');
  const [first] = messages.filter(({ role }) => role === 'assistant');
  await data('GET', `/v1/threads/sums/messages/${first?.message_id ?? ''}`);
  for (const body of bodies)
    t.false(body.includes('provider_data') || body.includes('c2lnbmF0dXJl'), body.slice(0, 500));
});
