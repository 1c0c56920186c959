import { ServiceError, unanswered, unavailable } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Embedder } from '../ports/embedder.ts';
import { faultOf, notNumbers, unembedded } from './embedding.ts';

interface OpenaiEmbedderOptions {
  /** The address of the API, with `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly model: string;
  readonly dimension: number;
  /** The timeout of one request, also when the caller's deadline is later. */
  readonly timeoutMs: number;
  /** How many texts one request holds. */
  readonly batchSize?: number;
}

/** Sends texts to any endpoint with OpenAI's `POST /embeddings`. */
export function createOpenaiEmbedder(options: OpenaiEmbedderOptions): Embedder {
  const { model, dimension, timeoutMs, batchSize = 128 } = options;
  const url = `${options.baseUrl.replace(/(?<!\/)\/+$/, '')}/embeddings`;
  const headers = {
    'content-type': 'application/json',
    ...(options.apiKey !== undefined && { authorization: `Bearer ${options.apiKey}` }),
  };

  const embedBatch = async (input: readonly string[], call: Call): Promise<Float32Array[]> => {
    const body = JSON.stringify({ model, input, encoding_format: 'float' });
    const reply = await post({ url, headers, body, timeoutMs }, call);
    return readVectors(reply, { count: input.length, dimension });
  };

  return {
    model,
    dimension,
    embed: async (texts, call) => {
      const vectors: Float32Array[] = [];
      for (let from = 0; from < texts.length; from += batchSize) {
        vectors.push(...(await embedBatch(texts.slice(from, from + batchSize), call)));
      }
      return vectors;
    },
  };
}

interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

/** The body of a successful reply, as JSON. */
async function post({ url, headers, body, timeoutMs }: Post, call: Call): Promise<unknown> {
  const remainingMs = Math.max(0, call.deadline - Date.now());
  const late = AbortSignal.timeout(Math.min(timeoutMs, remainingMs));
  try {
    const signal = AbortSignal.any([call.signal, late]);
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
    if (response.ok) return toJson(await response.text());
    await response.body?.cancel();
    throw refusal(response);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (late.aborted) throw lateError(error, { isDeadline: remainingMs <= timeoutMs });
    if (call.signal.aborted) throw cancelledError(call);
    throw unavailable(`${endpoint} cannot be reached`, error);
  }
}

const endpoint = 'the embeddings endpoint';

/** Endpoints write these where a model gave no number, though JSON does not have them. */
const noNumber = /[[,]\s*-?(NaN|Infinity)\s*[\],]/;

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (noNumber.test(text)) throw unembedded(notNumbers);
    throw new ServiceError('Internal', `${endpoint} answered no JSON`, { cause });
  }
}

/** A busy or broken endpoint may answer later. One that refuses is configured wrongly. */
function refusal({ status, headers }: Response): ServiceError {
  if (status !== 429 && status < 500) {
    return new ServiceError('Internal', `${endpoint} refused the request with status ${String(status)}`);
  }
  const seconds = Number(headers.get('retry-after') ?? 1);
  const retryAfterMs = seconds > 0 && seconds <= 3600 ? seconds * 1000 : 1000;
  return unavailable(`${endpoint} answered with status ${String(status)}`, undefined, retryAfterMs);
}

const lateError = (error: unknown, { isDeadline }: { readonly isDeadline: boolean }): ServiceError =>
  isDeadline
    ? unanswered(`${endpoint} did not answer before the deadline`)
    : unavailable(`${endpoint} did not answer in time`, error);

const cancelledError = ({ deadline }: Call): ServiceError =>
  Date.now() >= deadline
    ? unanswered(`${endpoint} did not answer before the deadline`)
    : new ServiceError('Cancelled', 'the caller went away');

interface Expected {
  readonly count: number;
  readonly dimension: number;
}

function readVectors(reply: unknown, { count, dimension }: Expected): Float32Array[] {
  const data = fieldOf(reply, 'data');
  if (!Array.isArray(data) || data.length !== count) {
    throw new ServiceError('Internal', `${endpoint} did not answer one embedding a text`);
  }
  const vectors = new Map(data.map((item, index) => [fieldOf(item, 'index') ?? index, fieldOf(item, 'embedding')]));
  return Array.from({ length: count }, (_, index) => readVector(vectors.get(index), dimension));
}

function readVector(numbers: unknown, dimension: number): Float32Array {
  if (!Array.isArray(numbers)) throw new ServiceError('Internal', `${endpoint} did not answer one embedding a text`);
  const fault = faultOf(numbers, dimension);
  if (fault !== undefined) throw unembedded(fault);
  return Float32Array.from(numbers as number[]);
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
