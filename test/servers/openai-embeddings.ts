import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What the server does with the requests that come. */
export type Behaviour =
  | { readonly kind: 'answer' }
  /** Gives every vector as this, whatever it holds. */
  | { readonly kind: 'vector'; readonly vector: readonly unknown[] }
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly kind: 'body'; readonly body: string }
  /** Takes the request and never answers. */
  | { readonly kind: 'hang' };

interface SeenRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly model: string;
  readonly input: readonly string[];
  readonly dimensions?: number;
}

export interface OpenaiEmbeddings extends AsyncDisposable {
  /** The base URL, `/v1` included. */
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  readonly behave: (behaviour: Behaviour) => void;
  /** Resolves when a request hangs. */
  readonly hanging: Promise<void>;
  /** Resolves when the caller of a request that hangs has left. */
  readonly abandoned: Promise<void>;
  /** The vector that a text gets: unless told otherwise, one number for each letter from a on, how often it is there. */
  readonly vectorOf: (text: string) => number[];
}

interface OpenaiEmbeddingsOptions {
  readonly dimension: number;
  /** Another way to make vectors. */
  readonly vectorOf?: (text: string) => number[];
  /** The status that a request is answered with for one of its texts; `undefined` where it can be embedded. */
  readonly refusalOf?: (text: string) => number | undefined;
  /** What becomes of `dimensions`: vectors of that length, nothing, or a refusal. */
  readonly dimensions?: 'taken' | 'ignored' | 'refused';
}

/** A server on a free port that speaks OpenAI's embeddings API. It answers the texts in reverse, as the API allows. */
export async function startOpenaiEmbeddings(options: OpenaiEmbeddingsOptions): Promise<OpenaiEmbeddings> {
  const { dimension } = options;
  const requests: SeenRequest[] = [];
  const hanging = Promise.withResolvers<undefined>();
  const left = Promise.withResolvers<undefined>();
  let behaviour: Behaviour = { kind: 'answer' };
  const countLetters = (text: string): number[] =>
    Array.from(
      { length: dimension },
      (_, letter) => text.toLowerCase().split(String.fromCharCode(97 + letter)).length - 1,
    );
  const { vectorOf = countLetters, refusalOf, dimensions: taking = 'taken' } = options;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const seen = JSON.parse((await buffer(request)).toString()) as SeenRequest;
    const { model, input, dimensions } = seen;
    requests.push({ ...seen, path: request.url ?? '', authorization: request.headers.authorization });
    const refusal = input.map((text) => refusalOf?.(text)).find((status) => status !== undefined);
    if (refusal !== undefined || (dimensions !== undefined && taking === 'refused')) {
      response.writeHead(refusal ?? 400).end('{"error":{"message":"secret detail"}}');
      return;
    }
    const shortened = (vector: readonly unknown[]): readonly unknown[] =>
      taking === 'taken' ? vector.slice(0, dimensions) : vector;
    if (behaviour.kind === 'hang') {
      response.once('close', () => {
        left.resolve(undefined);
      });
      hanging.resolve(undefined);
      return;
    }
    if (behaviour.kind === 'status') {
      response.writeHead(behaviour.status, behaviour.headers).end('{"error":{"message":"secret detail"}}');
      return;
    }
    const fixed = behaviour.kind === 'vector' ? behaviour.vector : undefined;
    const data = input
      .map((text, index) => ({ object: 'embedding', index, embedding: shortened(fixed ?? vectorOf(text)) }))
      .reverse();
    const body = behaviour.kind === 'body' ? behaviour.body : JSON.stringify({ object: 'list', model, data });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1`,
    requests,
    behave: (next) => {
      behaviour = next;
    },
    hanging: hanging.promise,
    abandoned: left.promise,
    vectorOf,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
