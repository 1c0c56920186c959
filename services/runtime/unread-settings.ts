import type { Env } from '@agent-workflow/kit/env';
import { settingReaders } from './setting-readers.ts';

type Readers = Readonly<Record<string, readonly string[]>>;

/**
 * The variables of an environment that look like settings and have no effect on a process of this kind, one text each:
 * settings of other kinds, and names that resemble a setting. Values are not part of the texts.
 */
export function unreadSettings(kind: string, env: Env, known: Readers = settingReaders): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined || value === '') return [];
    const readers = Object.hasOwn(known, name) ? known[name] : undefined;
    if (readers?.includes(kind)) return [];
    if (readers) return [`${name}: only ${readers.join(', ')} reads it, and this process is ${kind}`];
    const meant = resembled(name, known);
    return meant === undefined ? [] : [`${name}: no such setting; ${meant}`];
  });
}

/** What a name that is no setting seems to mean; `undefined` where it resembles no setting. */
function resembled(name: string, known: Readers): string | undefined {
  const upper = name.toUpperCase();
  if (upper.length < shortest || upper.length > longest) return undefined;
  const names = Object.keys(known);
  const near = names.find((one) => {
    const allowed = upper.length < twoMistakesFrom || !one.startsWith(upper.charAt(0)) ? 1 : 2;
    return mistakes(one, upper, allowed) <= allowed;
  });
  if (near !== undefined) return `${near} is one`;
  const longer = names.find((one) => one.startsWith(upper));
  if (longer !== undefined) return `${longer} is one`;
  const [family = ''] = upper.split('_', 1);
  const isOfFamily = families.has(family) && upper.length > family.length && !isOfKubernetes(upper);
  return isOfFamily ? `settings that begin with ${family}_ are listed in deploy/settings.md` : undefined;
}

/** Shorter names resemble too much: every environment has HOME, which is two letters from HOST. */
const shortest = 4;
/** And only with the same first letter: SSL_CERT_FILE, of OpenSSL, is two letters from TLS_CERT_FILE. */
const twoMistakesFrom = 8;
const longest = 64;

/** The servers of a cluster. Other first words, as of `OPENAI_…` and `OTEL_…`, also begin the variables of other programs. */
const families = new Set(['CASSANDRA', 'POSTGRES', 'NATS', 'REDIS', 'WEAVIATE']);

/** What Kubernetes sets for each service of a namespace: `NATS_PORT_4222_TCP_ADDR`, `NATS_SERVICE_HOST`, `NATS_SERVICE_PORT_CLIENT`. */
const isOfKubernetes = (name: string): boolean => name.includes('_SERVICE_PORT_') || endOfKubernetes.test(name);
const endOfKubernetes = /_(?:PORT|PORT_\d+_(?:TCP|UDP)(?:_[A-Z]+)?|SERVICE_HOST|SERVICE_PORT)$/;

/** The rows of the table below, made once: every variable is held against every setting at each start. */
const rows = [0, 1, 2].map(() => new Uint8Array(longest + 3)) as [Uint8Array, Uint8Array, Uint8Array];

/**
 * How many letters are too many, missing, different or exchanged with their neighbour (the distance of Damerau and
 * Levenshtein, restricted to adjacent letters). More than `limit` where the lengths already differ by more.
 */
function mistakes(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let [before, above, current] = rows;
  for (let column = 0; column <= b.length; column++) above[column] = column;
  for (let row = 1; row <= a.length; row++) {
    current[0] = row;
    let least = row;
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isExchanged = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const count = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (isSame ? 0 : 1),
        isExchanged ? (before[column - 2] ?? 0) + 1 : Infinity,
      );
      current[column] = count;
      least = Math.min(least, count);
    }
    // An exchange is counted from the row before the last: both must be beyond the limit.
    if (least > limit && Math.min(...above.subarray(0, b.length + 1)) > limit) return limit + 1;
    [before, above, current] = [above, current, before];
  }
  return above[b.length] ?? 0;
}
