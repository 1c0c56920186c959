import { createServer } from 'node:http';
import { once } from 'node:events';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';

export interface SentMessage {
  readonly role: string;
  readonly content: unknown;
  readonly reasoning_content?: string;
  readonly reasoning_details?: unknown;
  readonly tool_calls?: readonly { readonly id: string; readonly extra_content?: unknown }[];
}

interface ThinkingChat extends AsyncDisposable {
  /** Where the API begins. */
  readonly baseUrl: string;
  /** The messages of each request. */
  readonly requests: readonly (readonly SentMessage[])[];
}

export const thought = 'The user wants a sum. \u00e9\ud83e\uded6 "add" it is.';
export const signature = { google: { thought_signature: 'c2lnbmF0dXJl+/==' } };
export const sealed = [{ type: 'reasoning.encrypted', data: 'AAECAw==', id: 'rs_1', index: 0 }];

/**
 * A provider whose model thinks before it calls a tool, as DeepSeek's do: it answers 400 when a message with calls comes back without the reasoning,
 * and the members that stood beside it, and `strict: false` answers whatever comes.
 */
export async function startThinkingChat({ strict = true } = {}): Promise<ThinkingChat> {
  const requests: (readonly SentMessage[])[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const { messages } = body as { readonly messages: readonly SentMessage[] };
      requests.push(messages);
      const calling = messages.filter(({ tool_calls: calls }) => calls !== undefined);
      if (strict && !calling.every(isWhole)) {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(
          '{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}',
        );
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const isAnswered = messages.at(-1)?.role === 'tool';
      for (const choice of isAnswered ? answer : question)
        response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\n`);
      response.end('data: [DONE]\n\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

const isWhole = ({
  reasoning_content: reasoning,
  reasoning_details: details,
  tool_calls: calls = [],
}: SentMessage): boolean =>
  reasoning === thought &&
  JSON.stringify(details) === JSON.stringify(sealed) &&
  calls.every((call) => JSON.stringify(call.extra_content) === JSON.stringify(signature));

const call = {
  ...{ index: 0, id: 'call_1', type: 'function', extra_content: signature },
  function: { name: 'add', arguments: '{"a":2,"b":3}' },
};

const question = [
  { delta: { role: 'assistant', content: null, reasoning_content: thought.slice(0, 24) } },
  { delta: { reasoning_content: thought.slice(24) } },
  { delta: { reasoning_details: sealed } },
  { delta: { tool_calls: [call] } },
  { delta: {}, finish_reason: 'tool_calls' },
];

const answer = [
  { delta: { reasoning_content: 'Five.' } },
  { delta: { content: 'It is ' } },
  { delta: { content: '5.' } },
  { delta: {}, finish_reason: 'stop' },
];
