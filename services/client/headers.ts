/** The headers whose values callers give in another place. */
const parts: Readonly<Record<string, string>> = { authorization: 'token', 'last-event-id': 'after' };

/** What RFC 9110 lets a value hold, and ends of lines, which `fetch` cuts from both sides. */
const fit = /^[\t\n\r\x20-\x7e\x80-\xff]*$/;
const fitValue = (value: string): boolean => fit.test(value) && !/[\n\r]/.test(value.trim());
const fitName = /^[!#$%&'*+.^_`|~\w-]+$/;

/** The headers that belong to the connection. `fetch` sets them itself, and refuses others or drops them. */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * `fetch` takes such headers for a failure of the connection, and puts them into its message.
 * @throws TypeError that names the part of the request, and not its value.
 */
export function refuseUnfitHeaders(headers: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!fitName.test(name)) throw new TypeError('headers must have names that a header of HTTP can have');
    if (ofConnection.has(name.toLowerCase()))
      throw new TypeError(`headers must not have "${name}": \`fetch\` sets it itself`);
    if (!fitValue(String(value)))
      throw new TypeError(
        `${parts[name.toLowerCase()] ?? `the header "${name}"`} must hold only characters that a header of HTTP can hold`,
      );
  }
}

/**
 * What the service takes as `Idempotency-Key`.
 * @throws TypeError for another.
 */
export function refuseUnfitKey(key: unknown): void {
  if (key === undefined || key === null || (typeof key === 'string' && /^[!-~]{1,255}$/.test(key))) return;
  throw new TypeError('idempotencyKey must be a text of 1 to 255 visible ASCII characters');
}
