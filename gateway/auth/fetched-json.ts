import { isLoopback } from '@agent-workflow/runtime/loopback';

/** What an issuer of tokens publishes, at most, in bytes. */
const maxBytes = 256 * 1024;

/**
 * Fetches the JSON that an issuer of tokens publishes, without following redirects.
 * @throws when the reply is not a 200 with JSON of at most 256 KiB, or `signal` fires. The message names `what`.
 */
export async function fetchJson(url: string, what: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, { redirect: 'error', signal, headers: { accept: 'application/json' } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${what} was answered with status ${String(response.status)}`);
  }
  return JSON.parse(await boundedText(response, what));
}

async function boundedText({ body }: Response, what: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`${what} is larger than ${String(maxBytes)} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What is wrong with an address from which keys are read; `undefined` for a valid one. */
export function addressFault(url: string): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return 'must be an http or https address';
  return parsed.username || parsed.password ? 'must not carry a name or password' : undefined;
}

/** The same for one that nobody on the way may change: only this machine is reached without TLS. */
export function secureAddressFault(url: string): string | undefined {
  const fault = addressFault(url);
  if (fault !== undefined) return fault;
  const { protocol, hostname } = new URL(url);
  const isSecure = protocol === 'https:' || isLoopback(hostname.replaceAll(/[[\]]/g, ''));
  return isSecure ? undefined : 'must be an https address';
}
