/** A message as the reference client makes it before it sends it. */
interface ClientMessage {
  readonly message_id: string | number | null;
  readonly role: string;
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly delta: boolean;
  readonly timestamp: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What the reference client reads of a reply. */
interface ClientReply {
  readonly data: Readonly<Record<string, never>>;
  readonly metadata: { readonly message: string; readonly request_id: string; readonly timestamp: string };
}

interface ReadMessage {
  readonly content: readonly Readonly<Record<string, unknown>>[];
}

interface ClientChunk {
  readonly event: string;
  readonly message?: ReadMessage | null;
  readonly thread_id?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

type Handler = (args: Readonly<Record<string, unknown>>) => unknown;

export const makeMessage = (role: string, content: ClientMessage['content']): ClientMessage => ({
  message_id: null,
  role,
  content,
  delta: false,
  timestamp: Date.now(),
  metadata: {},
});

export const textMessage = (text: string): ClientMessage =>
  makeMessage('user', [{ type: 'text', text, annotations: [] }]);

const acceptsJson = { accept: 'application/json' };

/**
 * Speaks to the service as the reference client (`agentflow-client` 0.2.0) does: the same methods, paths, headers and bodies,
 * and the same reading of replies. Written from its published source, because the package itself is not in the registry.
 */
export function createReferenceClient(url: string) {
  const tools = new Map<string, Handler>();

  const request = async (method: string, path: string, body?: unknown): Promise<ClientReply> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...acceptsJson },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${String(response.status)} ${await response.text()}`);
    return (await response.json()) as ClientReply;
  };

  const answerCalls = (messages: readonly ReadMessage[]): ClientMessage[] =>
    callsOf(messages).map(({ id, name, args }) => {
      const handler = tools.get(String(name));
      const output = handler ? handler(args as Record<string, unknown>) : { error: `Tool '${String(name)}' not found` };
      const outcome = { status: handler ? 'completed' : 'failed', is_error: !handler };
      return makeMessage('tool', [{ type: 'tool_result', call_id: id, output, ...outcome }]);
    });

  const memory = { config: {}, options: {} };

  return {
    ping: () => request('GET', '/v1/ping'),
    graph: () => request('GET', '/v1/graph'),
    graphStateSchema: () => request('GET', '/v1/graph:StateSchema'),
    threads: (query: string) => request('GET', `/v1/threads?${query}`),
    threadDetails: (id: string | number) => request('GET', `/v1/threads/${String(id)}`),
    threadState: (id: string | number) => request('GET', `/v1/threads/${String(id)}/state`),
    updateThreadState: (id: string | number, config: object, state: object) =>
      request('PUT', `/v1/threads/${String(id)}/state`, { config, state }),
    clearThreadState: (id: string | number) => request('DELETE', `/v1/threads/${String(id)}/state`),
    deleteThread: (id: string | number) => request('DELETE', `/v1/threads/${String(id)}`, { config: {} }),
    threadMessages: (id: string | number, query: string) =>
      request('GET', `/v1/threads/${String(id)}/messages?${query}`),
    threadMessage: (id: string | number, messageId: string) =>
      request('GET', `/v1/threads/${String(id)}/messages/${messageId}`),
    /** It sends messages as they are made, unlike invoke and stream. */
    addThreadMessages: (id: string | number, messages: readonly ClientMessage[]) =>
      request('POST', `/v1/threads/${String(id)}/messages`, { config: {}, messages, metadata: {} }),
    deleteThreadMessage: (id: string | number, messageId: string) =>
      request('DELETE', `/v1/threads/${String(id)}/messages/${messageId}`, { config: {} }),

    registerTool: (name: string, handler: Handler) => void tools.set(name, handler),
    setup: () =>
      request('POST', '/v1/graph/setup', {
        tools: [...tools.keys()].map((name) => ({
          node_name: '',
          name,
          description: `Execute ${name}`,
          parameters: { type: 'object', properties: {}, required: [] },
        })),
      }),
    stopGraph: (threadId: string) => request('POST', '/v1/graph/stop', { thread_id: threadId }),
    fixGraph: (threadId: string) => request('POST', '/v1/graph/fix', { thread_id: threadId }),

    /** Answers remote calls and asks again, until none is left. */
    invoke: async (messages: readonly ClientMessage[], config: object) => {
      const all: unknown[] = [];
      for (let given = messages.map(serialized); ;) {
        const body = { messages: given, config, recursion_limit: 25, response_granularity: 'full' };
        const { data } = await request('POST', '/v1/graph/invoke', body);
        const replies = (data['messages'] as readonly ReadMessage[] | undefined) ?? [];
        const answers = answerCalls(replies);
        all.push(...replies, ...answers);
        if (answers.length === 0) return { data, all, messages: replies };
        given = answers.map(serialized);
      }
    },

    /** Yields every chunk; answers remote calls and streams again, until none is left. */
    stream: async function* (messages: readonly ClientMessage[], config: object): AsyncGenerator<ClientChunk> {
      for (let given = messages.map(serialized); given.length > 0;) {
        const response = await fetch(`${url}/v1/graph/stream`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Accept: 'application/x-ndjson, application/json' },
          body: JSON.stringify({ messages: given, config, recursion_limit: 25, response_granularity: 'low' }),
        });
        if (!response.ok) throw new Error(`stream: ${String(response.status)}`);
        const lines = (await response.text()).split('\n').filter((line) => line !== '');
        const chunks = lines.map((line) => JSON.parse(line) as ClientChunk);
        yield* chunks;
        given = answerCalls(chunks.flatMap(({ message }) => message ?? [])).map(serialized);
      }
    },

    storeMemory: (content: string, memory_type: string, category: string) =>
      request('POST', '/v1/store/memories', { ...memory, content, memory_type, category, metadata: {} }),
    searchMemory: (query: string, memory_type: string, category: string) =>
      request('POST', '/v1/store/search', {
        ...memory,
        query,
        memory_type,
        category,
        limit: 10,
        score_threshold: 0,
        filters: {},
        retrieval_strategy: 'similarity',
        distance_metric: 'cosine',
        max_tokens: 4000,
      }),
    getMemory: (id: string) => request('POST', `/v1/store/memories/${id}`, memory),
    updateMemory: (id: string, content: string) =>
      request('PUT', `/v1/store/memories/${id}`, { ...memory, content, metadata: {} }),
    listMemories: () => request('POST', '/v1/store/memories/list', { ...memory, limit: 100 }),
    deleteMemory: (id: string) => request('DELETE', `/v1/store/memories/${id}`, memory),
    forgetMemories: (category: string) => request('POST', '/v1/store/memories/forget', { category }),
  };
}

const callsOf = (messages: readonly ReadMessage[]): readonly Readonly<Record<string, unknown>>[] =>
  messages.flatMap(({ content }) => content.filter(({ type }) => type === 'remote_tool_call'));

/** As it sends a message with a run: an id of 0 asks for a new one, empty lists are left out. */
const serialized = ({ role, content, message_id: id, metadata }: ClientMessage): object => ({
  role,
  content: content.map((block) =>
    Object.fromEntries(Object.entries(block).filter(([, value]) => !(Array.isArray(value) && value.length === 0))),
  ),
  message_id: id === null ? '0' : String(id),
  ...(Object.keys(metadata).length > 0 && { metadata }),
});
