import { request } from 'node:https';
import { text } from 'node:stream/consumers';

/** The API of Kubernetes, as far as tests speak it. */
export interface KubeApi {
  /** What is read there. @throws Error for another status than a good one. */
  readonly text: (path: string) => Promise<string>;
  /** The object, or the list; `undefined` when there is none, or its kind is only just being made known. */
  readonly get: <T>(path: string) => Promise<T | undefined>;
  readonly list: <T>(path: string) => Promise<readonly T[]>;
  /** @throws Error with what the API says of it. */
  readonly create: (path: string, object: object) => Promise<void>;
  /** What is answered to an object that is only a question. */
  readonly post: <T>(path: string, object: object) => Promise<T>;
}

/** The answer of the API server about a kind that was just defined. */
const beginning = 429;

/** @param server Its certificate is its own: it is one of ours, on the loopback. */
export function createKubeApi({ server, token }: { readonly server: string; readonly token: string }): KubeApi {
  const send = async (method: string, path: string, body?: object): Promise<{ status: number; reply: string }> => {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; reply: string }>();
    const sent = request(`${server}${path}`, {
      method,
      rejectUnauthorized: false,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    sent.on('error', reject).on('response', (answer) => {
      text(answer).then((reply) => resolve({ status: answer.statusCode ?? 0, reply }), reject);
    });
    sent.end(body && JSON.stringify(body));
    return promise;
  };
  const good = async (method: string, path: string, body?: object): Promise<string> => {
    const { status, reply } = await send(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${reply}`);
    return reply;
  };
  return {
    text: async (path) => good('GET', path),
    get: async <T>(path: string) => {
      const { status, reply } = await send('GET', path);
      if (status === 404 || status === beginning) return undefined;
      if (status >= 300) throw new Error(`GET ${path}: ${status} ${reply}`);
      return JSON.parse(reply) as T;
    },
    list: async <T>(path: string) => (JSON.parse(await good('GET', path)) as { readonly items: readonly T[] }).items,
    create: async (path, object) => {
      await good('POST', path, object);
    },
    post: async <T>(path: string, object: object) => JSON.parse(await good('POST', path, object)) as T,
  };
}
