import { integer, type Settings, type Values } from '@agent-workflow/kit/env';
import { grantChecks, grantSettings, poolSettings } from '@agent-workflow/runtime/pool-credentials';
import { grpcChecks, grpcSettings, processSettings, securitySettings } from '@agent-workflow/runtime/process';
import { storeChecks, storeSettings } from './stores.ts';

/** What the threads service reads from the environment. */
export const threadsSettings = {
  CHECKPOINT_KEEP: integer(100, 'Newest versions of a thread that can be read and forked; older ones go by and by', {
    min: 1,
    max: 1_000_000,
  }),
  CHECKPOINT_TTL: integer(
    604_800,
    'Seconds after which a version can no longer be read or forked; 0 is without a bound',
    {
      max: 10 * 365 * 24 * 3600,
    },
  ),
  OPEN_QUESTIONS: integer(
    100,
    'Questions to others that the runs of one owner and agent may have open, or have asked in the last ten minutes; a run that asks more fails. Where callers do not sign in there is no bound',
    { min: 1, max: 10_000 },
  ),
} satisfies Settings;

/** What the threads service reads as a process of its own. */
export const threadsProcessSettings = {
  ...processSettings,
  ...grpcSettings,
  ...securitySettings,
  ...poolSettings,
  ...grantSettings,
  ...threadsSettings,
  ...storeSettings,
} satisfies Settings;

/** What must hold between them. */
export const threadsProcessChecks = [...grpcChecks, ...grantChecks, ...storeChecks];

export type ThreadsValues = Values<typeof threadsSettings>;
