import { createClient, RequestError } from '@agent-workflow/client';
import { signal } from '@preact/signals';
import { noteDate } from './clock.ts';
import { keepingText } from './written.ts';

/** Where the token of this tab is kept: it goes with the tab. */
const tokenKey = 'token';

/** The bearer token that requests carry; empty where none is needed. */
export const token = signal(sessionStorage.getItem(tokenKey) ?? '');

/** Why the page asks for a token: the service has refused the one of the tab, or the lack of one, or the reader wants another. */
export const signInReason = signal<'refused' | 'wanted' | undefined>(undefined);

/** Keeps a token for this tab, which may be given with the word `Bearer`. An empty one is forgotten. */
export function signIn(given: string): void {
  token.value = given.trim().replace(/^bearer +/i, '');
  if (token.value === '') sessionStorage.removeItem(tokenKey);
  else sessionStorage.setItem(tokenKey, token.value);
  signInReason.value = undefined;
}

/** Whether the last request reached the service. Views say so while it does not. */
export const isReachable = signal(true);

/** Notes what a reply says of the session, and gives it back. */
async function watchedFetch(...given: Parameters<typeof fetch>): Promise<Response> {
  try {
    const response = await fetch(...given);
    isReachable.value = true;
    noteDate(response.headers.get('date'));
    if (response.status === 401) signInReason.value = 'refused';
    return keepingText(response);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'AbortError')) isReachable.value = false;
    throw error;
  }
}

const given = { url: location.origin, headers: {}, maxAttempts: 20 };

/** The client of the gateway that served the page. It keeps trying for about a minute while the gateway is unavailable. */
export const client = createClient({ ...given, token: () => token.value, fetch: watchedFetch });

/** A client that keeps the token of now, whatever the tab has later, and whose requests go on when the page is closed. */
export function lastingClient(): typeof client {
  const now = token.peek();
  // What the service says to somebody who has left says nothing of the session.
  const lasting: typeof fetch = async (address, init) =>
    (now === token.peek() ? watchedFetch : fetch)(address, { ...init, keepalive: true });
  return createClient({ ...given, token: () => now, fetch: lasting });
}

/** What a failure says to a reader: the sentence, the places it names, and the id that the operator's log has. */
export function describe(error: unknown): string {
  if (!(error instanceof RequestError)) return error instanceof Error ? error.message : String(error);
  const places = error.details.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
  const request = error.requestId === undefined ? '' : ` (request ${error.requestId})`;
  return [error.message, ...places.filter((place) => !error.message.includes(place))].join('; ') + request;
}
