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
