/** Code that calls an agent. */
interface Snippet {
  readonly language: 'sh' | 'js' | 'json';
  readonly code: string;
}

/** A protocol in which callers speak to the agents, and how a program begins with it. */
interface Protocol {
  /** As the setting `DIALECTS` names it; `v1` is the service's own. */
  readonly id: string;
  readonly title: string;
  /** Who speaks it. */
  readonly text: string;
  /** The page of the guide. */
  readonly docs: string;
  readonly snippets: readonly Snippet[];
}

interface Called {
  /** Of the service: `https://example.com`. */
  readonly origin: string;
  readonly agent: string;
  /** Whether requests to `/v1` must name it: a service with one agent has no other. */
  readonly isOnly: boolean;
  /** Whether callers have a token. Snippets read it from the environment, and never hold it. */
  readonly hasToken: boolean;
}

const hello = 'hello';

/** A text as one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface Sent {
  readonly path: string;
  readonly body: object;
  /** Further headers. */
  readonly headers?: readonly string[];
}

function curl({ origin, hasToken }: Called, { path, body, headers = [] }: Sent): Snippet {
  const all = ["'content-type: application/json'", ...headers.map(quoted)];
  if (hasToken) all.push('"authorization: Bearer $TOKEN"');
  // A message has an id of its own each time.
  const json = quoted(JSON.stringify(body)).replaceAll('FRESH', () => `'"$(date +%s)-$$"'`);
  const lines = [`curl -sN ${quoted(`${origin}${path}`)}`, ...all.map((header) => `-H ${header}`), `-d ${json}`];
  return { language: 'sh', code: `${lines.join(' \\\n  ')}\n` };
}

const js = (code: string): Snippet => ({ language: 'js', code });

/** A text in a module. */
const text = (value: string): string => JSON.stringify(value);

const bearer = '`Bearer ${process.env.TOKEN}`';

const own = (called: Called): Protocol => {
  const { origin, agent, isOnly, hasToken } = called;
  const body = { messages: [{ role: 'user', content: hello }], ...(!isOnly && { config: { agent } }) };
  return {
    ...{ id: 'v1', title: 'HTTP', text: 'The API of the service, which has all that it can do.', docs: '/docs' },
    snippets: [
      curl(called, { path: '/v1/graph/stream', body }),
      js(`// npm install @agent-workflow/client
import { createClient, textOf } from '@agent-workflow/client';

const client = createClient({ url: ${text(origin)}${hasToken ? ", token: () => process.env.TOKEN ?? ''" : ''} });
const { messages } = await client.invoke(${JSON.stringify(body)});
console.log(messages.map(textOf).join('\\n'));
`),
    ],
  };
};

const openai = (called: Called): Protocol => {
  const { origin, agent, hasToken } = called;
  const body = { model: agent, messages: [{ role: 'user', content: hello }], stream: true };
  return {
    ...{
      id: 'openai',
      title: 'OpenAI',
      text: "OpenAI's clients, and tools that speak to models: the agent is a model.",
    },
    docs: '/docs/openai',
    snippets: [
      curl(called, { path: '/openai/v1/chat/completions', body }),
      js(`// npm install openai
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${text(`${origin}/openai/v1`)}, apiKey: ${hasToken ? 'process.env.TOKEN' : "'none'"} });
const stream = await client.chat.completions.create({
  model: ${text(agent)},
  messages: [{ role: 'user', content: ${text(hello)} }],
  stream: true,
});
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '');
`),
    ],
  };
};

const langgraph = (called: Called): Protocol => {
  const { origin, agent, hasToken } = called;
  const input = { messages: [{ role: 'user', content: hello }] };
  const headers = hasToken ? `, defaultHeaders: { authorization: ${bearer} }` : '';
  return {
    ...{
      id: 'langgraph',
      title: 'LangGraph',
      text: 'The SDKs and front ends of LangGraph: the agent is an assistant.',
    },
    docs: '/docs/langgraph',
    snippets: [
      curl(called, {
        path: '/langgraph/runs/stream',
        body: { assistant_id: agent, input, stream_mode: ['messages-tuple'] },
      }),
      js(`// npm install @langchain/langgraph-sdk
import { Client } from '@langchain/langgraph-sdk';

const { runs } = new Client({ apiUrl: ${text(`${origin}/langgraph`)}, apiKey: null${headers} });
const input = ${JSON.stringify(input)};
for await (const { event, data } of runs.stream(null, ${text(agent)}, { input, streamMode: 'messages-tuple' }))
  if (event === 'messages') process.stdout.write(String(data[0].content));
`),
    ],
  };
};

const mcp = (called: Called): Protocol => {
  const { origin, agent, hasToken } = called;
  const url = `${origin}/mcp`;
  const params = { name: agent, arguments: { message: hello } };
  const server = { type: 'http', url, ...(hasToken && { headers: { Authorization: 'Bearer ${TOKEN}' } }) };
  const options = hasToken ? `, {\n  requestInit: { headers: { authorization: ${bearer} } },\n}` : '';
  return {
    ...{
      id: 'mcp',
      title: 'MCP',
      text: 'Assistants and editors that take tools: the agent is a tool.',
      docs: '/docs/mcp',
    },
    snippets: [
      { language: 'json', code: `${JSON.stringify({ mcpServers: { 'agent-workflow': server } }, null, 2)}\n` },
      curl(called, {
        path: '/mcp',
        headers: ['accept: application/json, text/event-stream'],
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      }),
      js(`// npm install @modelcontextprotocol/client
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const transport = new StreamableHTTPClientTransport(new URL(${text(url)})${options});
const client = new Client({ name: 'my-program', version: '1' });
await client.connect(transport);
const { content } = await client.callTool(${JSON.stringify(params)});
console.log(content);
await client.close();
`),
    ],
  };
};

const a2a = (called: Called): Protocol => {
  const { origin, agent, hasToken } = called;
  const path = `/a2a/${encodeURIComponent(agent)}`;
  const message = { messageId: 'FRESH', role: 'ROLE_USER', parts: [{ text: hello }] };
  const options = hasToken ? `, {\n  serviceParameters: { authorization: ${bearer} },\n}` : '';
  return {
    ...{
      id: 'a2a',
      title: 'A2A',
      text: 'Agents of other services: the agent has a card, and works on tasks.',
      docs: '/docs/a2a',
    },
    snippets: [
      curl(called, { path: `${path}/message:send`, headers: ['A2A-Version: 1.0'], body: { message } }),
      js(`// npm install @a2a-js/sdk
import { ClientFactory } from '@a2a-js/sdk/client';

const client = await new ClientFactory().createFromUrl(${text(`${origin}${path}/`)});
const part = { content: { $case: 'text', value: ${text(hello)} }, filename: '', mediaType: '' };
const message = { messageId: crypto.randomUUID(), contextId: '', taskId: '', role: 1, parts: [part], extensions: [], referenceTaskIds: [] };
for await (const { payload } of client.sendMessageStream({ tenant: '', message }${options}))
  if (payload.$case === 'artifactUpdate')
    for (const { content } of payload.value.artifact.parts) process.stdout.write(content.value);
`),
    ],
  };
};

const agui = (called: Called): Protocol => {
  const { origin, agent, hasToken } = called;
  const path = `/agui/${encodeURIComponent(agent)}`;
  const messages = [{ id: 'm-FRESH', role: 'user', content: hello }];
  const headers = hasToken ? `, headers: { authorization: ${bearer} }` : '';
  return {
    ...{
      id: 'agui',
      title: 'AG-UI',
      text: 'Front ends that show what an agent does: they read its events.',
      docs: '/docs/ag-ui',
    },
    snippets: [
      curl(called, { path, body: { threadId: 't-FRESH', runId: 'r-FRESH', messages } }),
      js(`// npm install @ag-ui/client @agent-workflow/client
import { ResumingAgent } from '@agent-workflow/client/ag-ui';

const agent = new ResumingAgent({ url: ${text(`${origin}${path}`)}${headers} });
agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: ${text(hello)} });
await agent.runAgent({}, { onTextMessageContentEvent: ({ event }) => void process.stdout.write(event.delta) });
`),
    ],
  };
};

/** Those of the protocols with these names that programs begin with, the service's own first. */
export const protocolsOf = (names: readonly string[], called: Called): readonly Protocol[] =>
  [own, openai, langgraph, mcp, a2a, agui].map((make) => make(called)).filter(({ id }) => names.includes(id));
