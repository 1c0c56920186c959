import { gatewayChecks, gatewaySettings } from '@agent-workflow/gateway/config';
import { text, type Settings } from '@agent-workflow/kit/env';
import { executionSettings } from '@agent-workflow/execution/config';
import { memoryChecks, memorySettings } from '@agent-workflow/memory/config';
import { threadsSettings } from '@agent-workflow/threads/config';

/** The settings of the standalone process: those of every part, and the data folder. */
export const standaloneSettings = {
  DATA_DIR: text('.data', 'Folder of the data, made for the user of the process alone; `:memory:` keeps nothing'),
  ...gatewaySettings,
  ...executionSettings,
  ...threadsSettings,
  ...memorySettings,
} satisfies Settings;

/** What must hold between them. */
export const standaloneChecks = [...gatewayChecks, ...memoryChecks];
