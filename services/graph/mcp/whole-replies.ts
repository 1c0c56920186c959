type Members = Readonly<Record<string, unknown>>;

/**
 * `fetch` for the transport of the client, which refuses a reply as a whole for one member of its envelope: `error: null` beside a result, or a result
 * that is a text, would be a failure of a call that was done. Streams of events are left as they are.
 */
export async function fetchReplies(address: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(address, init);
  const { status, statusText, headers } = response;
  if (init?.method !== 'POST' || !response.ok || !headers.get('content-type')?.startsWith('application/json'))
    return response;
  return new Response(withEnvelope(await response.text()), { status, statusText, headers });
}

function withEnvelope(text: string): string {
  try {
    const read: unknown = JSON.parse(text);
    return JSON.stringify(Array.isArray(read) ? read.map(toMessage) : toMessage(read));
  } catch {
    return text;
  }
}

/** A reply as JSON-RPC has it; a request or a notification of the server stays. */
function toMessage(given: unknown): unknown {
  if (!isObject(given) || 'method' in given || !('id' in given)) return given;
  const { id, error, result } = given;
  if (error === undefined || error === null || error === false) return { jsonrpc: '2.0', id, result: toResult(result) };
  const { code, message, data } = isObject(error) ? error : { code: undefined, message: error, data: undefined };
  return { jsonrpc: '2.0', id, error: { code: toCode(code), message: String(message), data } };
}

const toResult = (result: unknown): unknown => (isObject(result) ? result : { content: result ?? [] });

/** An error of no kind that is known. */
const otherCode = -32_000;

function toCode(code: unknown): number {
  const read = typeof code === 'string' && code.trim() !== '' ? Number(code) : code;
  return Number.isInteger(read) ? Number(read) : otherCode;
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
