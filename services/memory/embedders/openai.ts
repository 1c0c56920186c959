import { isServiceError, ServiceError, unanswered, unavailable } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Embedder } from '../ports/embedder.ts';
import { faultOf, notNumbers, perhapsOneText, unembedded } from './embedding.ts';

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

  /** Whether the model's own vectors are longer. It is asked then alone, because many models refuse the parameter. */
  let isShortened = false;

  const embedBatch = async (input: readonly string[], call: Call): Promise<Float32Array[]> => {
    const request = async (): Promise<readonly unknown[][]> => {
      const dimensions = isShortened ? { dimensions: dimension } : {};
      const body = JSON.stringify({ model, input, encoding_format: 'float', ...dimensions });
      return readNumbers(await post({ url, headers, body, timeoutMs }, call), input.length);
    };
    const numbers = await request();
    const isWhole = !isShortened;
    if (isWhole && numbers.length > 0 && numbers.every(({ length }) => length > dimension)) {
      isShortened = true;
      const shorter = await request().catch((error: unknown) => {
        isShortened = false;
        throw isServiceError(error, 'Internal')
          ? unembedded(`${faultOf(numbers[0] ?? [], dimension) ?? notNumbers}${refused}`)
          : error;
      });
      return shorter.map((each) => toVector(each, dimension, ignored));
    }
    return numbers.map((each) => toVector(each, dimension, isShortened ? ignored : ''));
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

/** What an embedder that gives longer vectors all the same is to blame for. */
const ignored = ', though it was asked for so many as `dimensions`';
const refused = ', and refuses to be asked for so many as `dimensions`';

/** These refuse every text. */
const ofAllTexts = [401, 403, 404, 429];

/** A busy or broken endpoint may answer later. One that refuses is configured wrongly, or cannot take one of the texts. */
function refusal({ status, headers }: Response): ServiceError {
  const cause = ofAllTexts.includes(status) ? undefined : perhapsOneText;
  if (status !== 429 && status < 500) {
    return new ServiceError('Internal', `${endpoint} refused the request with status ${String(status)}`, { cause });
  }
  const seconds = Number(headers.get('retry-after') ?? 1);
  const retryAfterMs = seconds > 0 && seconds <= 3600 ? seconds * 1000 : 1000;
  return unavailable(`${endpoint} answered with status ${String(status)}`, cause, retryAfterMs);
}

const lateError = (error: unknown, { isDeadline }: { readonly isDeadline: boolean }): ServiceError =>
  isDeadline
    ? unanswered(`${endpoint} did not answer before the deadline`)
    : unavailable(`${endpoint} did not answer in time`, error);

const cancelledError = ({ deadline }: Call): ServiceError =>
  Date.now() >= deadline
    ? unanswered(`${endpoint} did not answer before the deadline`)
    : new ServiceError('Cancelled', 'the caller went away');

/** The lists of numbers of a reply, in the order of the texts. */
function readNumbers(reply: unknown, count: number): unknown[][] {
  const data = fieldOf(reply, 'data');
  if (!Array.isArray(data) || data.length !== count) throw notOneEach();
  const lists = new Map(data.map((item, index) => [fieldOf(item, 'index') ?? index, fieldOf(item, 'embedding')]));
  return Array.from({ length: count }, (_, index) => {
    const numbers = lists.get(index);
    if (!Array.isArray(numbers)) throw notOneEach();
    return numbers as unknown[];
  });
}

const notOneEach = (): ServiceError =>
  new ServiceError('Internal', `${endpoint} did not answer one embedding a text`, { cause: perhapsOneText });

/** @throws Invalid when the numbers are no vector of `dimension`; `reason` says more of one that has another. */
function toVector(numbers: readonly unknown[], dimension: number, reason: string): Float32Array {
  const fault = faultOf(numbers, dimension);
  if (fault !== undefined) throw unembedded(numbers.length === dimension ? fault : fault + reason);
  return Float32Array.from(numbers as number[]);
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
