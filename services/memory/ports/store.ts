import type { MemoryBackup } from './backup.ts';
import type { MemoryRecords } from './records.ts';
import type { MemorySearch } from './search.ts';

/**
 * All that one server keeps of memories: for those that open a store, and for the suites that judge one. Code that uses a store
 * takes the ports that it needs.
 */
export interface MemoryStore extends MemoryRecords, MemorySearch, MemoryBackup, AsyncDisposable {}
