import { budgetSettings } from '@agent-workflow/runtime/budget';
import {
  choice,
  ConfigError,
  integer,
  required,
  type Setting,
  type Settings,
  type Values,
} from '@agent-workflow/kit/env';
import { filesSecret } from '@agent-workflow/runtime/files-secret';
import { grpcSettings, processSettings, securitySettings } from '@agent-workflow/runtime/process';
import { serviceFileSettings } from '@agent-workflow/runtime/service-file';
import { natsSettings } from './adapters/nats/settings.ts';

/** What the execution service reads from the environment. */
export const executionSettings = {
  RUN_CONCURRENCY: integer(128, 'Runs driven at once by this process', { min: 1, max: 10_000 }),
  RUN_BACKLOG: integer(10_000, 'Runs that may wait for a free place; while so many do, more are refused with 503', {
    min: 1,
    max: 10_000_000,
  }),
  ...budgetSettings,
  HOT_STATE_MB: integer(64, 'Memory for states of threads run lately, in MiB of JSON; no more than `IN_FLIGHT_MB`', {
    min: 1,
    max: 65_536,
  }),
  BLOCK_LIMIT_MS: integer(
    10_000,
    "Milliseconds that the agent's code may block the process; longer, and the process ends itself, with run and node named in its log; 0 is without a bound",
    { max: 2 ** 31 - 1 },
  ),
  LEASE_MS: integer(
    6000,
    'Milliseconds that a worker counts as alive after its last heartbeat; then others take over its runs',
    { min: 500, max: 600_000 },
  ),
  THREAD_TTL: integer(0, 'Seconds after which a thread that nothing has changed is deleted; 0 keeps it for ever', {
    max: 10 ** 10,
  }),
  EVENTS_RETENTION: integer(3600, 'Seconds that the events of an ended run can be replayed', { min: 1 }),
} satisfies Settings;

const filesUrl: Setting<string | undefined> = {
  doc: 'Where workers reach the gateway for the files of `ctx.files`: `http://host:port`; unset, nodes reach no files',
  fallback: undefined,
  read: (value) =>
    /^https?:\/\//.test(value) && URL.canParse(value)
      ? value
      : { problem: 'must be `http://` or `https://` with a host' },
};

/** What the execution service reads as a process of its own. */
export const executionProcessSettings = {
  ...processSettings,
  ...grpcSettings,
  ...securitySettings,
  ...serviceFileSettings,
  ROLE: choice(
    ['all', 'api', 'worker'],
    'all',
    'What a process of the execution service does: accept, follow and stop runs (`api`), drive them (`worker`), or both',
  ),
  THREADS_ADDRESS: required('Where the threads service listens: `host:port`, or a gRPC target'),
  MEMORY_ADDRESS: required('Where the memory service listens: `host:port`, or a gRPC target'),
  FILES_URL: filesUrl,
  FILES_SECRET: filesSecret,
  ...executionSettings,
  ...natsSettings,
} satisfies Settings;

/** Where the files are, and what requests for them are sealed with. @throws ConfigError when one of the two is not set. */
export function toFilesPlace({
  FILES_URL: url,
  FILES_SECRET: secrets,
}: Pick<Values<typeof executionProcessSettings>, 'FILES_URL' | 'FILES_SECRET'>):
  { readonly url: string; readonly secrets: readonly [string, ...string[]] } | undefined {
  if (url === undefined) return undefined;
  if (!secrets) throw new ConfigError('FILES_SECRET must be set where FILES_URL is');
  return { url, secrets };
}
