import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Knowledge } from './knowledge.ts';
import type { RunGrant } from './threads.ts';

/** What a grant says: this pool has claimed this run. */
export interface GrantedRun {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
  readonly agent: string;
  readonly pool: string;
  /** What the run may do in scopes of memories; absent: nothing beside what is its owner's and its agent's. */
  readonly knowledge?: Knowledge;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** Makes and reads grants, without a look at the record. */
export interface Grants {
  readonly issue: (granted: Omit<GrantedRun, 'until'>) => RunGrant;
  /** What was granted, also when its time is over; `undefined` for a text that {@link issue} did not make. */
  readonly read: (token: string) => GrantedRun | undefined;
  /** Whether its time is over. */
  readonly isExpired: (granted: GrantedRun) => boolean;
}

/** How long a grant is good, in milliseconds. With {@link clocksApartMs} it is less than a minute. */
const grantMs = 45_000;
/** How far the clocks of the process that makes a grant and of one that reads it may be apart, in milliseconds. */
const clocksApartMs = 10_000;
/** A longer text is not read: headers are no larger. */
const maxTokenLength = 16 * 1024;

const purpose = 'grant of a run';
const keyBytes = 32;

/** The first secret signs, each verifies: while a secret is changed both are given. `now` is in milliseconds since 1970. */
export function createGrants(secrets: readonly [string, ...string[]], now: () => number = Date.now): Grants {
  const keys = secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', purpose, keyBytes)));
  const sign = (payload: string, key: Buffer): Buffer => createHmac('sha256', key).update(payload).digest();
  return {
    issue: (granted) => {
      const payload = toPayload({ ...granted, until: now() + grantMs });
      return { token: `${payload}.${sign(payload, keys[0] as Buffer).toString('base64url')}`, forMs: grantMs };
    },
    read: (token) => {
      const [payload = '', signature = '', ...more] = token.length > maxTokenLength ? [] : token.split('.');
      if (more.length > 0) return undefined;
      const shown = Buffer.from(signature, 'base64url');
      const isSigned = keys
        .map((key) => sign(payload, key))
        .filter((good) => good.length === shown.length && timingSafeEqual(good, shown));
      return isSigned.length > 0 ? fromPayload(payload) : undefined;
    },
    isExpired: ({ until }) => now() >= until + clocksApartMs,
  };
}

const toPayload = (granted: GrantedRun): string => Buffer.from(JSON.stringify(granted)).toString('base64url');

/** Only what was signed is parsed. */
const fromPayload = (payload: string): GrantedRun =>
  JSON.parse(Buffer.from(payload, 'base64url').toString()) as GrantedRun;
