import { modelParameters, type FailureReason, type ModelParameter } from '@agent-workflow/kit/errors';
import { objectOf, textOf, type JsonObject } from './given-json.ts';

/** What a provider wrote of a failure. */
interface ProviderReply {
  /** The status of HTTP; absent where the failure came within a stream. */
  readonly status?: number | undefined;
  /** The body, or the part of the stream that holds the error; it may be no JSON. */
  readonly body: string;
}

/** What is known of a failure of a provider. */
export interface ProviderFault {
  readonly reason: FailureReason;
  readonly parameter: ModelParameter | undefined;
  /** What the provider wrote, for the log of the operator: at most 1 KiB, without words of the request. */
  readonly words: string;
}

/** How much of a reply is read, in characters, and how many bytes of it are logged. */
export const readCharacters = 16 * 1024;
const loggedBytes = 1024;

/**
 * Reads why a provider refused or failed. `sent` is all that the request held, the key included, as one text: of the provider's text no word
 * of it is kept but those that such errors usually have. Where it is not known, as a key that a library has, these alone are kept.
 */
export function readProviderFault({ status, body }: ProviderReply, sent: string | undefined): ProviderFault {
  const { code, type, param, message } = readError(body.slice(0, readCharacters));
  const words = createFilter(sent);
  const kinds = [code, type].map(words).filter((word) => word !== '');
  const text = words(message);
  const parameter = toParameter(param) ?? namedIn(text);
  const shown = [...new Set(kinds), words(param), text].filter((part) => part !== '').join(': ');
  return {
    reason: reasonOfProvider(status ?? statusIn(code), kinds.join(' ').toLowerCase(), text.toLowerCase()),
    parameter,
    words: cutBytes(shown, loggedBytes),
  };
}

interface ErrorParts {
  readonly code: string;
  readonly type: string;
  readonly param: string;
  readonly message: string;
}

/** The error as OpenAI, Anthropic, Google, Mistral, vLLM and Ollama write it; a body that is no JSON is its message. */
function readError(body: string): ErrorParts {
  let read: unknown;
  try {
    read = JSON.parse(body);
  } catch {
    return { code: '', type: '', param: '', message: body };
  }
  const outer = objectOf(Array.isArray(read) ? read[0] : read);
  const inner = outer['error'] ?? outer['detail'] ?? outer['base_resp'] ?? outer;
  const error = objectOf(Array.isArray(inner) ? inner[0] : inner);
  const message = typeof inner === 'string' ? inner : wordOf(firstOf(error, messageNames) ?? outer['message']);
  return {
    code: wordOf(firstOf(error, codeNames)),
    type: wordOf(error['type'] ?? error['status']),
    param: wordOf(error['param']),
    message,
  };
}

const messageNames = ['message', 'msg', 'error_msg', 'error_message', 'status_msg'];
const codeNames = ['code', 'error_code', 'status_code'];

const firstOf = (given: JsonObject, names: readonly string[]): unknown =>
  names.map((name) => given[name]).find((value) => value !== undefined && value !== null);

const wordOf = (value: unknown): string => (typeof value === 'number' ? String(value) : textOf(value));

/** Words of errors of providers. They say nothing of a request, although it may have them too. */
const usualWords: ReadonlySet<string> = new Set(
  `a an and any are as at be been but by can cannot could did do does doesn don due exceed exceeded exceeds failed failure for from has have
  if in invalid is isn it its large larger least length less limit limits long many maximum may minimum missing more most must no not of on one
  only or other over per please reached reduce request requested requests required should than that the their there these this to too
  total try try_again unexpected unknown unsupported use used value values was were when which while will with within you your
  account again allowed api audio authentication authorization available bad balance billing budget busy call calls capacity choices
  completion completions content context context_length_exceeded context_window_exceeded content_filter content_policy_violation conversation
  credit credits current currently default deployment deprecated details disabled enabled endpoint error errors exceed_context_size_error exist expected expired feature field
  filter filtered float format found free function functions high image images input insufficient_quota instead instructions integer internal
  invalid_api_key invalid_prompt invalid_request_error invalid_type invalid_value json key later limit_exceeded low management
  message messages model models name null number object occurred organization organization output overloaded overloaded_error
  parameter parameters permission permission_error plan policy processing project prompt prompts property provided provider quota quota_exceeded rate rate_limit
  rate_limit_error rate_limit_exceeded reasoning rejected response responses result results retry role safety schema server server_error service
  size string supported support supports system temporarily tier timeout token tokens tool tools tpm rpm type unable unavailable unsupported_parameter
  unsupported_value user version violation window wrong ${modelParameters.join(' ')}`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/** A word that holds a digit and is this long may be a key or an id. */
const keyCharacters = 12;

/** Gives a text without the words of the request that are not usual ones, each as `…`, and without what may be a key. */
function createFilter(sent: string | undefined): (text: string) => string {
  const request = sent?.toLowerCase();
  const isKept = (given: string): boolean => {
    const word = given.toLowerCase();
    if (usualWords.has(word)) return true;
    if (word.length >= keyCharacters && /\d/.test(word)) return false;
    return request === undefined ? /^\d{1,7}$/.test(word) : !request.includes(word);
  };
  const known = new Map<string, boolean>();
  const keeps = (word: string): boolean => {
    const kept = known.get(word) ?? isKept(word);
    known.set(word, kept);
    return kept;
  };
  return (text) =>
    text
      .slice(0, 2 * loggedBytes)
      .replaceAll(keyShape, '…')
      .replaceAll(/[\p{L}\p{N}\p{M}_]+/gu, (word) => (keeps(word) ? word : '…'))
      .replaceAll(/[\s\p{C}]+/gu, ' ')
      .replaceAll(/…[^\p{L}\p{N}]+…/gu, '…')
      .trim();
}

/** What looks like a key: the provider may repeat one that it uses itself. */
const keyShape = /\b(?:[sp]k-|bearer\s)\s*\S+/gi;

const parameters: ReadonlySet<string> = new Set(modelParameters);
const isParameter = (word: string | undefined): word is ModelParameter => word !== undefined && parameters.has(word);

/** The parameter that a path as `messages[0].content` begins with. */
function toParameter(path: string): ModelParameter | undefined {
  const first = /^\w+/.exec(path)?.[0];
  return isParameter(first) ? first : undefined;
}

/** A parameter that a text names in quotes: without them `user` and `stop` are words of the language. */
function namedIn(text: string): ModelParameter | undefined {
  for (const [, word] of text.matchAll(/['"`](\w{1,40})['"`]/g)) if (isParameter(word)) return word;
  return undefined;
}

const tooLong =
  /context_length|context_window|string_above_max_length|maximum context|context length|context window|too many tokens|prompt is too long|input is too long|exceed_context|token limit/;
const filtered = /content_filter|content_policy|responsibleai|safety|content management policy/;

/** Within a stream OpenRouter and Gemini write the status of HTTP as the code. */
const statusIn = (code: string): number | undefined => (/^[45]\d\d$/.test(code) ? Number(code) : undefined);

function reasonOfProvider(status: number | undefined, kinds: string, text: string): FailureReason {
  if (status === 413 || tooLong.test(kinds)) return 'context_too_long';
  if (filtered.test(kinds)) return 'content_filtered';
  if (status === 401 || status === 403) return 'credentials_refused';
  // A redirect is not followed: it would take the key along.
  if (status === 404 || (status !== undefined && status >= 300 && status < 400)) return 'not_found';
  if (status === 429 || /rate_limit|insufficient_quota/.test(kinds)) return 'rate_limited';
  if (status === 408 || status === 504) return 'timed_out';
  if (status === undefined || status >= 500) return tooLong.test(text) ? 'context_too_long' : 'provider_error';
  if (tooLong.test(text)) return 'context_too_long';
  return filtered.test(text) ? 'content_filtered' : 'refused_by_provider';
}

/** The text within so many bytes, cut between characters. */
function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= most) return text;
  return `${bytes
    .subarray(0, most - 8)
    .toString('utf8')
    .replace(/\uFFFD{1,3}$/, '')} …`;
}
