import { ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import OpenAI from 'openai';

/** The service that a page uses from another origin. */
interface Used {
  readonly url: string;
  readonly agent: string;
  readonly token: string;
}

async function completion({ url, agent, token }: Used): Promise<string> {
  const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: token, dangerouslyAllowBrowser: true });
  const messages = [{ role: 'user' as const, content: 'hello' }];
  const stream = await client.chat.completions.create({ model: agent, messages, stream: true });
  let text = '';
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
  return text;
}

async function response({ url, agent, token }: Used): Promise<string> {
  const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: token, dangerouslyAllowBrowser: true });
  const { id } = await client.responses.create({ model: agent, input: 'hello', background: true });
  let text = '';
  for await (const event of await client.responses.retrieve(id, { stream: true }))
    if (event.type === 'response.output_text.delta') text += event.delta;
  return text;
}

async function call({ url, agent, token }: Used, options: object): Promise<string> {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const client = new Client({ name: 'a page', version: '1' }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  const { content } = await client.callTool({ name: agent, arguments: { message: 'hello' } });
  const [first] = content;
  await client.close();
  return first?.type === 'text' ? first.text : '';
}

async function task({ url, agent, token }: Used, binding: 'JSONRPC' | 'HTTP+JSON'): Promise<string> {
  const factory = new ClientFactory({ ...ClientFactoryOptions.default, preferredTransports: [binding] });
  const client = await factory.createFromUrl(`${url}/a2a/${agent}/`);
  const part = {
    content: { $case: 'text' as const, value: 'hello' },
    metadata: undefined,
    filename: '',
    mediaType: '',
  };
  const message = {
    ...{ messageId: crypto.randomUUID(), contextId: '', taskId: '', role: 1, parts: [part], metadata: undefined },
    ...{ extensions: [], referenceTaskIds: [] },
  };
  let text = '';
  const sent = { tenant: '', message, configuration: undefined, metadata: undefined };
  const serviceParameters = { authorization: `Bearer ${token}` };
  for await (const { payload } of client.sendMessageStream(sent, { serviceParameters }))
    if (payload?.$case === 'artifactUpdate')
      for (const { content } of payload.value.artifact?.parts ?? [])
        if (content?.$case === 'text') text += content.value;
  return text;
}

/** What a page does with the clients of the other protocols: each gives what the agent has written. */
const uses = {
  completion,
  response,
  'call with a handshake': (used: Used) => call(used, {}),
  'call without a handshake': (used: Used) => call(used, { versionNegotiation: { mode: 'auto' } }),
  'task by JSON-RPC': (used: Used) => task(used, 'JSONRPC'),
  'task by REST': (used: Used) => task(used, 'HTTP+JSON'),
} satisfies Readonly<Record<string, (used: Used) => Promise<string>>>;

Object.assign(globalThis, { uses });
