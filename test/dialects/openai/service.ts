import type { TestFn } from 'ava';
import OpenAI from 'openai';
import { openShape } from '../../http/shape.ts';
import { agentAt } from '../../servers/standalone.ts';

/** OpenAI's API of the service, with the agents of the tests as models. */
interface OpenaiService {
  /** Where the service is. */
  readonly url: () => string;
  /** OpenAI's own client of it. It sends nothing again by itself. */
  readonly client: (more?: object) => OpenAI;
}

const agents = Object.fromEntries(
  ['obedient', 'recorded', 'thinking', 'working', 'chatting', 'typing', 'configured', 'reporting'].map((name) => [
    name,
    agentAt(name),
  ]),
);

/** Starts the service before the tests of the file and ends it after them. */
export function serveOpenai(
  test: TestFn,
  env: Readonly<Record<string, string>> = {},
  service: object = {},
): OpenaiService {
  let url = '';
  const opened = new AsyncDisposableStack();
  test.serial.before(async () => {
    const started = opened.use(await openShape(null, env, { agents, default_agent: 'obedient', ...service }));
    ({ url } = started);
  });
  test.after.always(() => opened.disposeAsync());
  return {
    url: () => url,
    client: (more = {}) => new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'none', maxRetries: 0, ...more }),
  };
}

export const user = (content: string) => ({ role: 'user' as const, content });

/** A function of the caller. */
export const camera = {
  type: 'function' as const,
  function: {
    name: 'look',
    description: 'Looks',
    parameters: { type: 'object', properties: { at: { type: 'string' } } },
  },
};
