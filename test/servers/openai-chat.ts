import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ScriptedCall {
  readonly id: string;
  readonly name: string;
  /** JSON text, sent in several parts. */
  readonly json: string;
}

interface ScriptedAnswer {
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Why it ended; `stop` or `tool_calls` unless given. */
  readonly finish?: string;
  /** The tokens that it counts; they are sent to those who ask for them. */
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

/** What the model does with one request. */
export type ScriptedReply =
  | ScriptedAnswer
  /** Refuses, with a body that repeats the key as real services do. */
  | { readonly status: number; readonly error?: object }
  /** Sends a little text and then closes: the connection, or only the stream; or says and closes nothing more. */
  | { readonly breaksOff: 'connection' | 'stream' | 'never' };

interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly unknown[];
  readonly tool_call_id?: string;
}

/** A request as the server got it. */
interface ChatRequest {
  readonly authorization: string | undefined;
  readonly body: {
    readonly model: string;
    readonly stream?: boolean;
    readonly messages: readonly ChatMessage[];
    readonly tools?: readonly { readonly function: { readonly name: string } }[];
    readonly temperature?: number;
    readonly response_format?: unknown;
    readonly stream_options?: { readonly include_usage?: boolean };
  };
}

export interface OpenaiChat extends AsyncDisposable {
  /** Where the API begins, `/v1` included. */
  readonly baseUrl: string;
  readonly requests: readonly ChatRequest[];
  /** Resolves when a caller has left before its answer was complete. */
  readonly abandoned: Promise<void>;
}

/** Serves OpenAI's chat completions with streaming on a free port: the first request gets the first reply, and so on. */
export async function startOpenaiChat(replies: readonly ScriptedReply[]): Promise<OpenaiChat> {
  const requests: ChatRequest[] = [];
  const { promise: abandoned, resolve: abandon } = Promise.withResolvers<undefined>();
  const server = createServer((request, response) => {
    response.once('close', () => {
      if (!response.writableFinished) abandon(undefined);
    });
    void readRequest(request).then((body) => {
      const { authorization } = request.headers;
      const reply = replies[requests.push({ authorization, body }) - 1];
      answer(response, reply ?? { status: 410 }, { authorization, body });
    });
  });
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${String(port)}/v1`,
    requests,
    abandoned,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function readRequest(request: IncomingMessage): Promise<ChatRequest['body']> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString()) as ChatRequest['body'];
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return (server.address() as AddressInfo).port;
}

function answer(response: ServerResponse, reply: ScriptedReply, { authorization = '', body }: ChatRequest): void {
  if ('status' in reply) {
    response.writeHead(reply.status, { 'content-type': 'application/json' });
    const usual = { message: `refused ${authorization}`, type: 'refused' };
    response.end(JSON.stringify({ error: reply.error ?? usual }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if ('breaksOff' in reply) breakOff(response, reply.breaksOff);
  else sendAll(response, reply, body.stream_options?.include_usage === true);
}

function breakOff(response: ServerResponse, what: 'connection' | 'stream' | 'never'): void {
  send(response, { content: 'One moment' });
  if (what === 'stream') response.end();
  if (what === 'connection') response.write('data: {"cho', () => response.destroy());
}

function sendAll(
  response: ServerResponse,
  { text = '', calls = [], finish, usage }: ScriptedAnswer,
  wantsUsage: boolean,
): void {
  send(response, { role: 'assistant', content: '' });
  for (const word of text.match(/\s*\S+/g) ?? []) send(response, { content: word });
  for (const [index, { id, name }] of calls.entries())
    send(response, { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
  // The parts of calls made at once come interleaved.
  const size = 7;
  const longest = Math.max(0, ...calls.map(({ json }) => json.length));
  for (let from = 0; from < longest; from += size) {
    for (const [index, { json }] of calls.entries())
      send(response, { tool_calls: [{ index, function: { arguments: json.slice(from, from + size) } }] });
  }
  send(response, {}, finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'));
  // The usage comes last, in a chunk without choices.
  if (usage && wantsUsage) write(response, { choices: [], usage });
  response.end('data: [DONE]\n\n');
}

function send(response: ServerResponse, delta: object, finish: string | null = null): void {
  write(response, { choices: [{ index: 0, delta, finish_reason: finish }] });
}

function write(response: ServerResponse, chunk: object): void {
  response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...chunk })}\n\n`);
}
