import { endpoints } from '@agent-workflow/gateway/endpoints';
import { validator } from '@agent-workflow/gateway/validator';
import type { ExecutionContext, TestFn } from 'ava';
import { createClient, user, type Client, type Reply } from '../servers/client.ts';
import { openShape } from './shape.ts';

/** A service for the tests of one file. */
interface Service extends Client {
  readonly url: () => string;
  /** The one address of the service; in a cluster each connection to it may lead to another gateway. */
  readonly origin: () => string;
  /** The data of a success that must be the reply which the table promises for the endpoint of this name. */
  readonly data: (t: ExecutionContext, name: string, reply: Promise<Reply>) => Promise<never>;
  /** Checks that a reply refuses with this status and code, and gives the places that it names. */
  readonly refused: (t: ExecutionContext, reply: Promise<Reply>, status: number, code: string) => Promise<unknown[]>;
  /** Makes a thread with one turn on it. */
  readonly thread: (id: string, text?: string) => Promise<void>;
}

const statuses: Readonly<Record<number, string>> = {
  400: 'BAD_REQUEST',
  404: 'RESOURCE_NOT_FOUND',
  409: 'CONFLICT',
  422: 'VALIDATION_ERROR',
};

/** The code that goes with a status where there is but one. */
export const codeOf = (status: number): string => statuses[status] ?? '';

/** Opens the service before the tests of the file and closes it after them; `null`: without an agent. `config` adds to `service.json`. */
export function serve(
  test: TestFn,
  agent: string | null = 'obedient',
  env: Readonly<Record<string, string>> = {},
  config: Readonly<Record<string, unknown>> = {},
): Service {
  let service: Awaited<ReturnType<typeof openShape>> | undefined;
  test.serial.before(async () => {
    service = await openShape(agent, env, config);
  });
  test.after.always(async () => {
    await service?.[Symbol.asyncDispose]();
  });
  const url = (): string => service?.url ?? '';
  const send: Client['send'] = (...request) => createClient(url()).send(...request);
  return {
    url,
    origin: () => service?.origin ?? url(),
    send,
    stream: (...request) => createClient(url()).stream(...request),
    data: async (t, name, reply) => {
      const { status, headers, body } = await reply;
      t.is(status, 200, JSON.stringify(body));
      t.is(body.metadata['request_id'], headers.get('x-request-id') ?? '');
      t.regex(body.metadata['timestamp'] ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      validator(schemaOf(name))(body.data, () => 'body');
      return body.data;
    },
    refused: async (t, reply, status, code) => {
      const { status: actual, headers, body } = await reply;
      const { error, metadata } = body as unknown as Refused;
      t.deepEqual([actual, error.code], [status, code], JSON.stringify(body));
      t.is(metadata['request_id'], headers.get('x-request-id') ?? '');
      t.false(/\\n +at |node_modules|SELECT /.test(JSON.stringify(body)), 'nothing of the inside is told');
      return error.details.map(({ loc }) => loc);
    },
    thread: async (id, text = 'hello') => {
      const turn = { messages: [user(text)], config: { thread_id: id } };
      const { status, body } = await send('POST', '/v1/graph/invoke', turn);
      if (status !== 200) throw new Error(`thread "${id}" was not made: ${status} ${JSON.stringify(body)}`);
    },
  };
}

interface Refused {
  readonly error: { readonly code: string; readonly details: readonly { readonly loc: unknown }[] };
  readonly metadata: Readonly<Record<string, string>>;
}

function schemaOf(name: string): Parameters<typeof validator>[0] {
  const row = endpoints.find((endpoint) => endpoint.name === name);
  if (!row) throw new Error(`the table has no endpoint ${name}`);
  return row.reply;
}

/** The text of a message's text blocks. */
export const replyText = (message: { readonly content: readonly { readonly text?: string }[] } | undefined): string =>
  (message?.content ?? []).map(({ text = '' }) => text).join('');
