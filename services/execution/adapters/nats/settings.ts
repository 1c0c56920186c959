import {
  choice,
  ConfigError,
  integer,
  required,
  text,
  type Setting,
  type Settings,
  type Values,
} from '@agent-workflow/kit/env';
import type { Log } from '@agent-workflow/kit/log';
import type { HeldAgents } from '../../ports/queue.ts';
import type { NatsOptions } from './nats.ts';
import { inboxFault, inboxPrefixOf } from './pools/permissions.ts';

const inboxPrefix: Setting<string | undefined> = {
  doc: 'What the subjects of replies to this process begin with: `_INBOX`, and more words if need be; unset, `_INBOX`, and for `NATS_ACCESS=pool` one of the agents that it holds, where it may not be `_INBOX` itself',
  fallback: undefined,
  read: (value) =>
    /^_INBOX[\w-]*(\.[\w-]+)*$/.test(value)
      ? value
      : { problem: 'must begin with `_INBOX` and be of letters, digits, -, _ and single dots' },
};

/** With these the client connects; it takes any other for the first, and finds no NATS there. */
const natsSchemes: ReadonlySet<string> = new Set(['nats', 'tls']);

const natsUrl: Setting<string> = {
  ...required('Addresses of NATS, divided by commas: `nats://` or `tls://`, with user and password if it asks', {
    secret: true,
  }),
  read: (value) => {
    const wrong = value.split(',').find((address) => !isNatsAddress(address.trim()));
    return wrong === undefined ? value : { problem: `must be addresses with nats:// or tls://${schemeIn(wrong)}` };
  },
};

function isNatsAddress(address: string): boolean {
  // A host alone, which may have a port, is taken for one with nats://.
  if (!address.includes('://')) return address !== '' && !address.includes('@');
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return natsSchemes.has(protocol.slice(0, -1)) && hostname !== '';
}

/** The scheme, if it is another one: the rest of an address may be a password. */
function schemeIn(address: string): string {
  const [scheme = '', ...rest] = address.trim().split('://');
  return rest.length > 0 && /^[a-z]{1,10}$/.test(scheme) && !natsSchemes.has(scheme) ? `, and not ${scheme}://` : '';
}

/** What a replica of a cluster reads from the environment about NATS. */
export const natsSettings = {
  NATS_URL: natsUrl,
  NATS_TOKEN: text(undefined, 'Token that NATS is signed in to with', { secret: true }),
  NATS_CREDS_FILE: text(undefined, 'Path of the `.creds` file that NATS is signed in to with'),
  NATS_TLS_CA_FILE: text(undefined, 'Path of the certificate authority (PEM) of NATS, if it is not a public one'),
  NATS_TLS_CERT_FILE: text(undefined, 'Path of the client certificate (PEM) for NATS'),
  NATS_TLS_KEY_FILE: text(undefined, 'Path of the key (PEM) of the client certificate for NATS'),
  NATS_MONITOR_URL: text(
    undefined,
    'Addresses of the monitoring ports of all NATS servers, divided by commas: how their disks are synced is read there',
  ),
  NATS_PREFIX: text('', 'Prefix of the names of streams and subjects, where several services share a NATS'),
  NATS_ACCESS: choice(
    ['all', 'pool'],
    'all',
    'What the NATS user of this process may do: everything below `NATS_PREFIX`, or, of a `worker`, only what the agents that it holds need (`agent-workflow nats-permissions`); processes of the role `api` do the rest for it',
  ),
  NATS_INBOX_PREFIX: inboxPrefix,
  NATS_REPLICAS: integer(1, 'Servers that hold each stream', { min: 1, max: 5 }),
  EVENTS_MAX_AGE: integer(7200, 'Seconds that NATS keeps an event at most, however long its run lasts', {
    min: 1,
    max: 31_536_000,
  }),
  EVENTS_MAX_BYTES: integer(0, 'Bytes of events that NATS keeps at most, the oldest go first; 0 is no bound', {
    min: 0,
  }),
  DURABILITY: choice(
    ['default', 'strict'],
    'default',
    'Whether to start where NATS cannot promise to keep what it confirmed when a server loses its power',
  ),
} satisfies Settings;

type NatsValues = Values<typeof natsSettings>;

interface NatsParts {
  readonly values: NatsValues;
  /** The name under which NATS lists the connection. */
  readonly name: string;
  /** `EVENTS_RETENTION`, in seconds. */
  readonly retention: number;
  /** `LEASE_MS`, in milliseconds. */
  readonly leaseMs: number;
  /** What the process holds, if its user may do only what that needs. */
  readonly pool?: HeldAgents | undefined;
  readonly log: Log;
}

/** @throws ConfigError when NATS would remove events before their time; both ages are in seconds. */
export function refuseShortAge(maxAge: number, retention: number): void {
  if (maxAge < retention)
    throw new ConfigError(`EVENTS_MAX_AGE must be at least EVENTS_RETENTION (${retention}), not ${maxAge}`);
}

/** Options of the adapters. @throws ConfigError when settings contradict each other. */
export function toNatsOptions({ values, name, retention, leaseMs, pool, log }: NatsParts): NatsOptions {
  refuseShortAge(values.EVENTS_MAX_AGE, retention);
  if (!/^[\w-]*$/.test(values.NATS_PREFIX))
    throw new ConfigError(`NATS_PREFIX must be of letters, digits, - and _, not ${JSON.stringify(values.NATS_PREFIX)}`);
  const { NATS_INBOX_PREFIX: inbox } = values;
  const inboxProblem = pool && inbox !== undefined ? inboxFault(inbox, pool.agents) : undefined;
  if (inboxProblem !== undefined)
    throw new ConfigError(`NATS_INBOX_PREFIX ${inboxProblem}, not ${JSON.stringify(inbox)}`);
  return {
    url: values.NATS_URL,
    name,
    token: values.NATS_TOKEN,
    credsFile: values.NATS_CREDS_FILE,
    tlsCaFile: values.NATS_TLS_CA_FILE,
    tlsCertFile: values.NATS_TLS_CERT_FILE,
    tlsKeyFile: values.NATS_TLS_KEY_FILE,
    inboxPrefix: values.NATS_INBOX_PREFIX ?? (pool ? inboxPrefixOf(pool.agents) : undefined),
    pool,
    prefix: values.NATS_PREFIX,
    replicas: values.NATS_REPLICAS,
    eventsMaxAgeMs: values.EVENTS_MAX_AGE * 1000,
    eventsMaxBytes: values.EVENTS_MAX_BYTES,
    // A replica that dies between taking a run and claiming it delays the run no longer than one that dies after its claim.
    settleMs: leaseMs,
    leaseMs,
    retentionMs: retention * 1000,
    monitorUrls: values.NATS_MONITOR_URL?.split(',').map((url) => url.trim()) ?? [],
    strict: values.DURABILITY === 'strict',
    log,
  };
}
