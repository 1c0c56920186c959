import type { ExecutionContext, TestFn } from 'ava';
import { Client } from '@langchain/langgraph-sdk';
import { isCluster, openShape } from '../../http/shape.ts';
import { agentAt, makeWorkspace, startStandalone } from '../../servers/standalone.ts';

/** The graph of the tests, under the name that it has in the recordings. */
export const graphId = 'agent';

/** The id of its own assistant, as LangGraph Server makes it. */
export const ownId = 'fe096781-5601-53d2-b2f6-0d3403f7e9ca';

/** The dialect, served by a process of its own, or by a cluster. */
interface LangGraphService {
  readonly url: () => string;
  /** LangGraph's own client of it. */
  readonly client: () => Client;
  readonly send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** What the text is as JSON; `undefined` for none. */
  readonly body: unknown;
}

/** Starts the service before the tests of the file and ends it after them. */
export function serveLangGraph(
  test: TestFn,
  env: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, string>> = {},
): LangGraphService {
  let url = '';
  const opened = new AsyncDisposableStack();
  test.serial.before(async () => {
    const agents = { [graphId]: agentAt('recorded'), office: agentAt('obedient'), ...more };
    const config = { agents, default_agent: graphId };
    const started = isCluster ? await openShape(null, env, config) : await startAlone(config, env);
    opened.use(started);
    url = `${started.url}/langgraph`;
  });
  test.after.always(() => opened.disposeAsync());
  return {
    url: () => url,
    client: () => new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } }),
    send: async (method, path, body, headers = {}) => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : undefined,
      };
    },
  };
}

async function startAlone(config: object, env: Readonly<Record<string, string>>) {
  await using opening = new AsyncDisposableStack();
  const workspace = opening.use(await makeWorkspace(null, { ...config }));
  const settings = { ...workspace.env, HOST: '127.0.0.1', LOG_LEVEL: 'warn', ...env };
  const { url } = opening.use(await startStandalone(settings));
  const held = opening.move();
  return { url, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** Checks that a call of the client is refused with this status, and gives the text of the refusal. */
export async function refused(t: ExecutionContext, call: Promise<unknown>, status: number): Promise<string> {
  const error = await t.throwsAsync(call);
  const { status: actual = 0, text = '' } = error as { readonly status?: number; readonly text?: string };
  t.is(actual, status, error.message);
  return (JSON.parse(text) as { readonly detail: string }).detail;
}
