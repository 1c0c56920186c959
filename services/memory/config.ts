import { integer, type Settings, type Values } from '@agent-workflow/kit/env';
import { grantChecks, grantSettings, poolSettings } from '@agent-workflow/runtime/pool-credentials';
import { grpcChecks, grpcSettings, processSettings, securitySettings } from '@agent-workflow/runtime/process';
import { embedderChecks, embedderSettings } from './embedders/registry.ts';
import { storeChecks, storeSettings } from './stores.ts';

/** The settings of the memory service, in a process of its own and embedded. */
export const memorySettings = {
  ...embedderSettings,
  RELEVANCE_HALF_LIFE_DAYS: integer(30, 'Days after which a memory counts half as recent in a `relevance` search', {
    min: 1,
    max: 36_500,
  }),
} satisfies Settings;

/** What must hold between them. */
export const memoryChecks = embedderChecks;

/** The settings of a process that opens the store: the service, and the commands on its memories. */
export const memoryStoreSettings = {
  ...processSettings,
  ...memorySettings,
  ...storeSettings,
} satisfies Settings;

/** What must hold between them. */
export const memoryStoreChecks = [...memoryChecks, ...storeChecks];

/** The settings of the memory service in a process of its own. */
export const memoryProcessSettings = {
  ...memoryStoreSettings,
  ...grpcSettings,
  ...securitySettings,
  ...poolSettings,
  ...grantSettings,
} satisfies Settings;

/** What must hold between them. */
export const memoryProcessChecks = [...memoryStoreChecks, ...grpcChecks, ...grantChecks];

export type MemoryValues = Values<typeof memorySettings>;
