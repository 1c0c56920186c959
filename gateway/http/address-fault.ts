import { isLoopback } from '@agent-workflow/runtime/loopback';

/** What is wrong with an address on the web; `undefined` for a valid one. */
export function addressFault(url: string): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return 'must be an http or https address';
  return parsed.username || parsed.password ? 'must not carry a name or password' : undefined;
}

/** Whether an address is that of this machine. */
export const isHere = (url: string): boolean => isLoopback(new URL(url).hostname.replaceAll(/[[\]]/g, ''));

/** The same for one that nobody on the way may change: only this machine is reached without TLS. */
export function secureAddressFault(url: string): string | undefined {
  const fault = addressFault(url);
  if (fault !== undefined) return fault;
  return url.startsWith('https:') || isHere(url) ? undefined : 'must be an https address';
}
