import { createClient, RequestError } from '@agent-workflow/client';
import { signal } from '@preact/signals';
import { noteDate } from './clock.ts';
import { isRenewalDue, readLogin, type Login } from './login.ts';
import { keepingText } from './written.ts';

/** Where the token of this tab is kept: it goes with the tab. */
const tokenKey = 'token';
const loginKey = 'login';

/** The bearer token with which the session of this tab began; empty where none is needed. One that renews it begins no other session. */
export const token = signal(sessionStorage.getItem(tokenKey) ?? '');

/**
 * Why the page asks for a token: the service has refused the one of the tab, or the lack of one, the reader wants another, or signing in at the provider
 * has failed.
 */
export const signInReason = signal<'refused' | 'wanted' | { readonly failed: string } | undefined>(undefined);

/** What requests carry, and how it is renewed. */
let current = token.peek();
let login = readLogin(sessionStorage.getItem(loginKey));
let renewing: Promise<void> | undefined;

/** Keeps a token for this tab, which may be given with the word `Bearer`. An empty one is forgotten. */
export function signIn(given: string, next: Login = {}): void {
  const text = given.trim().replace(/^bearer +/i, '');
  // Requests that the new token begins carry it.
  keep(text, next);
  token.value = text;
  signInReason.value = undefined;
}

function keep(text: string, next: Login): void {
  current = text;
  login = next;
  if (text === '') sessionStorage.removeItem(tokenKey);
  else sessionStorage.setItem(tokenKey, text);
  if (Object.keys(next).length === 0) sessionStorage.removeItem(loginKey);
  else sessionStorage.setItem(loginKey, JSON.stringify(next));
}

/** Forgets the token of this tab, here and at the provider that gave it. */
export function signOut(): void {
  const left = login;
  signIn('');
  if (left.idToken === undefined && left.refreshToken === undefined) return;
  // A provider that cannot be reached leaves its own session: that of this page has ended.
  void import('./provider.ts').then(({ signOutThere }) => signOutThere(left)).catch(() => undefined);
}

/** The token of now: one that ends soon is renewed before it is used, by one request for all that wait. */
async function bearer(): Promise<string> {
  if (isRenewalDue(login, Date.now())) await (renewing ??= renewToken());
  return current;
}

/** Until when nothing is tried that has failed for a moment, in milliseconds. */
const pauseMs = 5000;

async function renewToken(): Promise<void> {
  const before = login;
  const { renew, isRefusal } = await import('./provider.ts');
  try {
    const next = await renew(before);
    if (login === before) keep(next.token, next.login);
  } catch (error) {
    const { refreshToken: _, ...rest } = before;
    if (login === before) login = isRefusal(error) ? rest : { ...before, renewAt: Date.now() + pauseMs };
  } finally {
    renewing = undefined;
  }
}

/** Whether the last request reached the service. Views say so while it does not. */
export const isReachable = signal(true);

/** Notes what a reply says of the session, and gives it back. */
async function watchedFetch(...given: Parameters<typeof fetch>): Promise<Response> {
  try {
    const response = await fetch(...given);
    isReachable.value = true;
    noteDate(response.headers.get('date'));
    if (response.status === 401 && typeof signInReason.peek() !== 'object') signInReason.value = 'refused';
    return keepingText(response);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'AbortError')) isReachable.value = false;
    throw error;
  }
}

const given = { url: location.origin, headers: {}, maxAttempts: 20 };

/** The client of the gateway that served the page. It keeps trying for about a minute while the gateway is unavailable. */
export const client = createClient({ ...given, token: bearer, fetch: watchedFetch });

/** A client of the same session whose requests are changed before they are sent. */
export const clientWith = (
  change: (path: string, init: RequestInit) => readonly [string, RequestInit],
): typeof client =>
  createClient({
    ...{ ...given, token: bearer },
    fetch: (address, init = {}) => {
      const { pathname, search } = new URL(address instanceof Request ? address.url : address);
      return watchedFetch(...change(pathname + search, init));
    },
  });

/** A client that keeps the token of now, whatever the tab has later, and whose requests go on when the page is closed. */
export function lastingClient(): typeof client {
  const [session, now] = [token.peek(), current];
  // What the service says to somebody who has left says nothing of the session.
  const lasting: typeof fetch = async (address, init) =>
    (session === token.peek() ? watchedFetch : fetch)(address, { ...init, keepalive: true });
  return createClient({ ...given, token: () => now, fetch: lasting });
}

/** What a failure says to a reader: the sentence, the places it names, and the id that the operator's log has. */
export function describe(error: unknown): string {
  if (!(error instanceof RequestError)) return error instanceof Error ? error.message : String(error);
  const places = error.details.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
  const request = error.requestId === undefined ? '' : ` (request ${error.requestId})`;
  return [error.message, ...places.filter((place) => !error.message.includes(place))].join('; ') + request;
}
