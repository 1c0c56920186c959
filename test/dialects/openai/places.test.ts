import { fileURLToPath } from 'node:url';
import test from 'ava';
import OpenAI from 'openai';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import type { Response } from 'openai/resources/responses/responses';
import { byAgent } from '../../backends/authorization.ts';
import { openEmbedded, type Embedded } from '../../servers/embedded.ts';
import { agentAt } from '../../servers/standalone.ts';
import { inSeconds, makeToken } from '../../servers/tokens.ts';
import { camera, serveOpenai, user } from './service.ts';

const service = serveOpenai(test);
const secret = 's'.repeat(32);
const module = fileURLToPath(new URL('../../backends/authorization.ts', import.meta.url));

const dashed = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

interface Run {
  readonly thread_id: string;
}

const runOf = async (url: string, id: string): Promise<Run> => {
  const reply = await fetch(`${url}/v1/runs/${dashed(id.replace(/^.*?[_-]/, ''))}`);
  return ((await reply.json()) as { data: Run }).data;
};

const cameraItem = { type: 'function' as const, name: 'look', parameters: { type: 'object' }, strict: false };

const callIn = ({ output }: Response): string => {
  const call = output.find(({ type }) => type === 'function_call');
  return call?.type === 'function_call' ? call.call_id : '';
};

/** The thread and the config of the run that goes on from a completion which asks for a call, by the id of that. */
async function afterAnswer(asked: ChatCompletion): Promise<{ readonly threadId: string; readonly config: object }> {
  const message = asked.choices[0]?.message;
  const call = message?.tool_calls?.[0];
  if (!message || !call) throw new Error('the completion asks for nothing');
  const result = { role: 'tool' as const, tool_call_id: call.id, content: 'a cat' };
  const messages = [user('call look'), message, result, user('config')];
  const answered = await service.client().chat.completions.create({ model: 'obedient', messages, tools: [camera] });
  const { thread_id: threadId } = await runOf(service.url(), answered.id);
  return { threadId, config: JSON.parse(answered.choices[0]?.message.content ?? '') as object };
}

test('a thread that a caller gave a day to live does not go with the run that has the answer', async (t) => {
  const made = await fetch(`${service.url()}/v1/graph/invoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [user('hello')],
      config: { agent: 'obedient', thread_id: 'of-a-day', ttl: 24 * 60 * 60 },
    }),
  });
  t.true(made.ok);
  const asked = await service.client().chat.completions.create({
    ...{ model: 'obedient', messages: [user('call look')], tools: [camera] },
    metadata: { thread_id: 'of-a-day' },
  });
  const { threadId, config } = await afterAnswer(asked);
  t.is(threadId, 'of-a-day');
  t.false('on_completion' in config);
});

test('the thread of a completion that asks goes with the run that has the answer', async (t) => {
  const given = { model: 'obedient', messages: [user('call look')], tools: [camera] };
  const asked = await service.client().chat.completions.create(given);
  const { threadId, config } = await afterAnswer(asked);
  t.is(threadId, (await runOf(service.url(), asked.id)).thread_id);
  t.like(config, { on_completion: 'delete' });
});

test('responses that go on from one at the same moment go on apart', async (t) => {
  const client = service.client();
  const first = await client.responses.create({ model: 'obedient', input: 'first' });
  const inputs = Array.from({ length: 8 }, (_, index) => String(index));
  const next = await Promise.all(
    inputs.map(async (input) => client.responses.create({ model: 'obedient', input, previous_response_id: first.id })),
  );
  const threads = await Promise.all(next.map(async ({ id }) => (await runOf(service.url(), id)).thread_id));
  t.is(new Set(threads).size, inputs.length);
  for (const [index, threadId] of threads.entries()) {
    const reply = await fetch(`${service.url()}/v1/threads/${threadId}/messages`);
    const { data } = (await reply.json()) as { data: { messages: { content: { text: string }[] }[] } };
    t.deepEqual(
      data.messages.map(({ content }) => content[0]?.text),
      ['first', 'you said first', inputs[index], `you said ${inputs[index] ?? ''}`],
    );
  }
});

const threadsOf = async (url: string): Promise<number> => {
  const reply = await fetch(`${url}/v1/threads?limit=100`);
  return ((await reply.json()) as { data: { threads: unknown[] } }).data.threads.length;
};

test('a response that is refused leaves no copy of the thread that it would have gone on from', async (t) => {
  await using own = await openEmbedded(
    null,
    {},
    {
      ...{ agents: { obedient: agentAt('obedient'), recorded: agentAt('recorded') }, default_agent: 'obedient' },
    },
  );
  const client = new OpenAI({ baseURL: `${own.url}/openai/v1`, apiKey: 'none', maxRetries: 0 });
  const first = await client.responses.create({ model: 'obedient', input: 'one' });
  await client.responses.create({ model: 'obedient', input: 'two', previous_response_id: first.id });
  const before = await threadsOf(own.url);
  const twice = [cameraItem, cameraItem];
  for (const [more, status] of [
    [{ model: 'recorded' }, 400],
    [{ input: [] }, 400],
    [{ tools: twice }, 400],
    [
      {
        input: [{ type: 'function_call_output', call_id: 'nobodys', output: 'x' }],
        reasoning: { of: 'x'.repeat(2_000_000) },
      },
      400,
    ],
  ] as const) {
    const given = { model: 'obedient', input: 'three', previous_response_id: first.id, ...more };
    const error = await t.throwsAsync(
      client.responses.create(given as never),
      undefined,
      JSON.stringify(more).slice(0, 80),
    );
    t.like(error, { status }, JSON.stringify(more).slice(0, 80));
  }
  t.is(await threadsOf(own.url), before);
});

/** The service with a backend that decides by agents, and clients of it. */
async function openSecured(): Promise<{ readonly own: Embedded; readonly client: OpenAI }> {
  const own = await openEmbedded(
    null,
    { HOST: '127.0.0.1', JWT_SECRET_KEY: secret },
    {
      ...{ agents: { support: agentAt('obedient') }, default_agent: 'support' },
      ...{ auth: 'jwt', authorization: `${module}:byAgent` },
    },
  );
  const apiKey = makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: 'ada', agents: ['support'] } });
  return { own, client: new OpenAI({ baseURL: `${own.url}/openai/v1`, apiKey, maxRetries: 0 }) };
}

test.serial('a backend is told the thread in which a request goes on, however that is named', async (t) => {
  const { own, client } = await openSecured();
  await using _ = own;
  const threads: (string | undefined)[] = [];
  const conversation = await client.conversations.create({ metadata: { thread_id: 'decoy' } });
  const id = dashed(conversation.id.slice('conv_'.length));
  const noteSubject = async (work: () => Promise<unknown>): Promise<void> => {
    byAgent.asked.length = 0;
    await work();
    threads.push(byAgent.asked.find(({ action }) => action === 'invoke')?.subject?.thread_id);
  };
  const given = { model: 'support', metadata: { thread_id: 'decoy' } };
  let response = {} as Response;
  await noteSubject(async () => {
    response = await client.responses.create({
      ...given,
      input: 'call look',
      tools: [cameraItem],
      conversation: conversation.id,
    });
  });
  await noteSubject(async () =>
    client.chat.completions.create({
      model: 'support',
      messages: [
        user('call look'),
        {
          role: 'assistant',
          tool_calls: [{ id: callIn(response), type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'user', content: 'x', tool_call_id: `${'0'.repeat(32)}_decoy` } as never,
        { role: 'tool', tool_call_id: callIn(response), content: 'a cat' },
      ],
    }),
  );
  await noteSubject(async () => {
    response = await client.responses.create({ ...given, input: 'again', conversation: conversation.id });
  });
  await noteSubject(async () =>
    client.responses.create({ ...given, input: 'more', previous_response_id: response.id }),
  );
  t.deepEqual(threads, [id, id, id, id]);
  const asked = await client.responses.create({ ...given, input: 'call look', tools: [cameraItem] });
  const { thread_id: own2 } = await ownRun(own.url, client, asked.id);
  threads.length = 0;
  await noteSubject(async () =>
    client.responses.create({
      ...given,
      input: [{ type: 'function_call_output', role: 'assistant', call_id: callIn(asked), output: 'a cat' } as never],
    }),
  );
  t.deepEqual(threads, [own2]);
});

const ownRun = async (url: string, { apiKey }: OpenAI, id: string): Promise<Run> => {
  const headers = { authorization: `Bearer ${apiKey}` };
  const reply = await fetch(`${url}/v1/runs/${dashed(id.slice('resp_'.length))}`, { headers });
  return ((await reply.json()) as { data: Run }).data;
};

test('a response whose conversation a caller made is not deleted with it', async (t) => {
  const client = service.client();
  const { id } = await client.conversations.create({});
  const made = await client.responses.create({ model: 'obedient', input: 'hello', conversation: id });
  const error = await t.throwsAsync(client.responses.delete(made.id));
  t.like(error, { status: 400, code: 'response_has_conversation' });
  t.is((await client.conversations.retrieve(id)).id, id);
});

for (const threadId of ['..', 'a/b', 'a\u0007b', 'x'.repeat(400)])
  test(`a thread is not made under an id that no path can have: ${JSON.stringify(threadId).slice(0, 20)}`, async (t) => {
    const client = service.client();
    const given = { model: 'obedient', messages: [user('hello')] };
    const error = await t.throwsAsync(client.chat.completions.create({ ...given, metadata: { thread_id: threadId } }));
    t.like(error, { status: 400, param: 'metadata.thread_id' });
    const conversation = `conv_=${threadId}`;
    t.true(
      [400, 404].includes(await statusOf(client.responses.create({ model: 'obedient', input: 'hello', conversation }))),
    );
    t.true([400, 404].includes(await statusOf(client.conversations.retrieve(conversation))));
  });

const statusOf = async (call: Promise<unknown>): Promise<number> =>
  call.then(
    () => 200,
    (error: unknown) => (error instanceof OpenAI.APIError ? Number(error.status) : 0),
  );

test('a response that is not stored does not go on from one that is', async (t) => {
  const client = service.client();
  const first = await client.responses.create({ model: 'obedient', input: 'one' });
  const next = { model: 'obedient', input: 'two', previous_response_id: first.id, store: false };
  t.like(await t.throwsAsync(client.responses.create(next)), { status: 400, code: 'invalid_value', param: 'store' });
});
