import type { MemoryType } from '@agent-workflow/protos/lists';
import type { Selection } from '@agent-workflow/protos/memory';
import { idText } from '@agent-workflow/protos/message';
import { jsonBytes } from '../../../../http/json.ts';
import type { MemoryConfig } from '../../schemas/memories.ts';

/** The thread that `config` names, as the memory service takes it. */
export const threadOf = (config: MemoryConfig | undefined): { threadId?: string } =>
  config?.thread_id === undefined ? {} : { threadId: idText(config.thread_id) };

/** The conditions of a search or of a bulk deletion. */
export function selectionOf(input: {
  readonly config?: MemoryConfig;
  readonly memory_type?: MemoryType;
  readonly category?: string;
  readonly filters?: Record<string, unknown>;
}): Selection {
  const { config, memory_type: memoryType, category, filters } = input;
  return {
    ...threadOf(config),
    ...(memoryType !== undefined && { memoryType }),
    ...(category !== undefined && { category: category.toWellFormed() }),
    ...(filters && Object.keys(filters).length > 0 && { filtersJson: jsonBytes(filters) }),
  };
}
