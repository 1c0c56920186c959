import { text, type Settings } from '@agent-workflow/kit/env';

/** Where a process of its own keeps its file. */
export const sqliteSettings = {
  DATA_DIR: text('.data', 'Folder of the data, made for the user of the process alone; `:memory:` keeps nothing'),
} satisfies Settings;
