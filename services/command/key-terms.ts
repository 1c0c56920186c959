import { isRoleText } from '@agent-workflow/gateway/access/read-rules';
import { principalOf } from '@agent-workflow/gateway/auth/user';
import { dialects } from '@agent-workflow/gateway/dialects';
import { accessOf } from '@agent-workflow/gateway/http/endpoint';
import { ConfigError } from '@agent-workflow/kit/env';

/** What an operator gives for a key that is to be made, as it was written. */
interface WrittenTerms {
  readonly user: string | undefined;
  /** Names with commas between. */
  readonly roles: string;
  /** The same: `resource:action`, `resource`, or `*`. */
  readonly scopes: string | undefined;
  /** Days or hours, as `90d` or `12h`. */
  readonly expires: string;
  readonly name: string;
}

interface KeyTerms {
  readonly user: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

const hourMs = 3_600_000;
const maxDays = 3650;

/** Reads what an operator gives for a key. `now`: milliseconds since 1970. @throws ConfigError for what does not hold. */
export function readKeyTerms({ user, roles, scopes, expires, name }: WrittenTerms, now: number): KeyTerms {
  if (user === undefined || !principalOf({ user_id: user }))
    throw new ConfigError('--user must be the id of a user: 1 to 256 characters, none of them invisible');
  if (!/^[^\p{C}\p{Zl}\p{Zp}]{0,100}$/u.test(name))
    throw new ConfigError('--name must have at most 100 characters, none of them invisible');
  const given = namesIn(roles);
  if (given.length > 100 || !given.every(isRoleText))
    throw new ConfigError('--roles must be at most 100 names of 1 to 128 visible characters, with commas between');
  return { user, roles: given, scopes: readScopes(scopes ?? ''), name, expiresAt: now + readExpiry(expires) };
}

function readExpiry(text: string): number {
  const [, count = '', unit] = /^(\d{1,5})([dh])$/.exec(text) ?? [];
  const hours = Number(count) * (unit === 'd' ? 24 : 1);
  if (hours >= 1 && hours <= maxDays * 24) return hours * hourMs;
  throw new ConfigError(`--expires must be a number of days or hours, as 90d or 12h, and at most ${String(maxDays)}d`);
}

function readScopes(text: string): readonly string[] {
  const scopes = namesIn(text);
  const known = knownScopes();
  const unknown = scopes.find((scope) => scope !== '*' && !known.includes(scope));
  if (scopes.length > 0 && unknown === undefined) return scopes;
  const what = unknown === undefined ? '--scopes must be given' : `--scopes: "${unknown}" is none`;
  throw new ConfigError(`${what}: * for everything, or of ${known.join(', ')}`);
}

/** Each resource, and each pair of a resource and an action that a request needs. */
function knownScopes(): readonly string[] {
  const pairs = dialects.flatMap(({ rows }) => rows.flatMap((row) => accessOf(row) ?? []));
  const names = pairs.flatMap(({ resource, action }) => [resource, `${resource}:${action}`]);
  return [...new Set(names)].toSorted();
}

const namesIn = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean),
  ),
];
